// Parses a large request and determines its size in a worker thread.
import type { Operation } from "../../formats/operations.ts";
import { parsedRequestSize, type RequestSize } from "./request-size.ts";

interface Task {
  readonly bytes: Uint8Array;
  readonly operation: Operation | null;
}

export function run({ bytes, operation }: Task): RequestSize {
  return parsedRequestSize(bytes, operation);
}
