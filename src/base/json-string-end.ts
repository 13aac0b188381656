// Finds the ends of strings in a JSON text: long prompts are almost only string content. Chooses the implementation.
import { createSimdTexts, FREE_BYTES, TEXT_START, type SimdTexts } from "./json-string-end-simd.ts";
import { wordTextOf } from "./json-string-end-words.ts";
import type { JsonText } from "./json-text.ts";

/** Undefined before the first text: compiling the module takes a millisecond, which a starting process does not spend. */
let simdTexts: SimdTexts | null | undefined;

export function jsonTextOf(text: Uint8Array): JsonText {
  if (simdTexts === undefined) simdTexts = createSimdTexts();
  return simdTexts === null ? wordTextOf(text) : simdTexts.textOf(text);
}

/** Where a text begins in the memory that `copyOfLastText` returns, and how many bytes before it the caller may write. */
export const COPY_START = TEXT_START;
export const ROOM_BYTES = FREE_BYTES;

/**
 * Returns memory with a copy of the text that was searched last, if it is this one, else null. It is valid until the next text is
 * searched.
 */
export function copyOfLastText(text: Uint8Array): Uint8Array | null {
  return simdTexts?.lastCopy(text) ?? null;
}

/** Call if something may change the bytes of a text that was searched: its copy is not used any more. */
export function forgetCopyOfLastText(): void {
  simdTexts?.forgetCopy();
}
