// Parses a large request and determines its size in a worker thread.
import type { BoundingApi } from "./output-bounds.ts";
import { parsedRequestSize, type RequestSize } from "./request-size.ts";

interface Task {
  readonly bytes: Uint8Array;
  readonly api: BoundingApi | null;
}

export function run({ bytes, api }: Task): RequestSize {
  return parsedRequestSize(bytes, api);
}
