// Parses a large request and determines its size in a worker thread.
import { isJsonObject } from "../../base/json.ts";
import { requestSizeOf, UNKNOWN_SIZE, type RequestSize } from "./request-size.ts";

/** `bytes` are a JSON object in UTF-8. */
export function run({ bytes }: { readonly bytes: Uint8Array }): RequestSize {
  const json: unknown = JSON.parse(new TextDecoder().decode(bytes));
  return isJsonObject(json) ? requestSizeOf(json) : UNKNOWN_SIZE;
}
