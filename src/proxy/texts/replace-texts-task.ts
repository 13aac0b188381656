// Writes replaced texts into a large response in a worker thread.
import { replaceTexts, type FoundText } from "./found-text.ts";
import { unpackItems, type Piece } from "./packed-items.ts";

export function run(input: { bytes: Uint8Array; replaced: readonly Piece<FoundText>[] }): Uint8Array {
  return replaceTexts(input.bytes, input.replaced.flatMap(unpackItems));
}
