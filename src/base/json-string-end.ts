// Finds the ends of strings in a JSON text: long prompts are almost only string content. Chooses the implementation.
import { createSimdTexts, ROOM_BYTES, type SimdTexts } from "./json-string-end-simd.ts";
import { wordTextOf } from "./json-string-end-words.ts";
import type { JsonText } from "./json-text.ts";

/** Undefined before the first text: compiling the module takes a millisecond, which a starting process does not spend. */
let simdTexts: SimdTexts | null | undefined;

export function jsonTextOf(text: Uint8Array): JsonText {
  if (simdTexts === undefined) simdTexts = createSimdTexts();
  return simdTexts === null ? wordTextOf(text) : simdTexts.textOf(text);
}

/** Where a text begins in the memory that `copyOfLastText` returns. */
export const COPY_START = ROOM_BYTES;

/**
 * Returns memory with a copy of the text that was searched last, if it is this one, else null. The caller may write before COPY_START. It is
 * valid until the next text is searched.
 */
export function copyOfLastText(text: Uint8Array): Uint8Array | null {
  return simdTexts?.lastCopy(text) ?? null;
}

/** Call if something may change the bytes of a text that was searched: its copy is not used any more. */
export function forgetCopyOfLastText(): void {
  simdTexts?.forgetCopy();
}
