// Estimates the tokens of the texts of a JSON value where they are. Chooses the implementation.
import { createSimdTexts, type SimdTexts } from "./text-tokens-simd.ts";
import { readAsciiText, type ReadText } from "./text-tokens.ts";

/** Undefined before the first value: compiling the module takes a millisecond. Null where the runtime does not support it. */
let simdTexts: SimdTexts | null | undefined;
/** Whether the value that was opened last is in `simdTexts`. */
let isInSimd = false;

/** Call before its texts are read. The texts of one value are read at a time. */
export function openTexts(json: Uint8Array): void {
  if (simdTexts === undefined) simdTexts = createSimdTexts();
  isInSimd = simdTexts !== null && simdTexts.open(json);
}

/** As `readAsciiText`, for a value that is open. */
export function readOpenText(json: Uint8Array, start: number, into: ReadText): boolean {
  return isInSimd && simdTexts ? simdTexts.read(start, into) : readAsciiText(json, start, into);
}
