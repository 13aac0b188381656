// Parses a large request and estimates its tokens in a worker thread.
import { isJsonObject } from "../base/json.ts";
import { estimateRequestTokens } from "../formats/token-estimate.ts";

/** `bytes` are a JSON object in UTF-8. */
export function run({ bytes }: { readonly bytes: Uint8Array }): number {
  const json: unknown = JSON.parse(new TextDecoder().decode(bytes));
  if (!isJsonObject(json)) throw new TypeError("the body is not a JSON object");
  return estimateRequestTokens(json);
}
