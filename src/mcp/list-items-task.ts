// Reads the items of a large page in a worker thread.
import { splitItems, type RawItems } from "./split-items.ts";
import type { ListMethod } from "./protocol.ts";

export function run({
  bytes,
  method,
}: {
  readonly bytes: Uint8Array;
  readonly method: ListMethod;
}): RawItems {
  return splitItems(bytes, method);
}
