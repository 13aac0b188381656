// Parses a large request and determines its size in a worker thread.
import { isJsonObject } from "../../base/json.ts";
import type { Operation } from "../../formats/operations.ts";
import { requestSizeOf, UNKNOWN_SIZE, type RequestSize } from "./request-size.ts";

interface Task {
  /** A JSON object in UTF-8. */
  readonly bytes: Uint8Array;
  readonly operation: Operation | null;
}

export function run({ bytes, operation }: Task): RequestSize {
  const json: unknown = JSON.parse(new TextDecoder().decode(bytes));
  return isJsonObject(json) ? requestSizeOf(json, operation) : UNKNOWN_SIZE;
}
