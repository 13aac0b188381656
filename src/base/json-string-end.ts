// Finds the ends of strings in a JSON text: long prompts are almost only string content. Chooses the implementation.
import { createSimdTexts } from "./json-string-end-simd.ts";
import { wordTextOf } from "./json-string-end-words.ts";
import type { JsonText, JsonTextOf } from "./json-text.ts";

/** Null before the first text: compiling the module takes a millisecond, which a starting process does not spend. */
let chosen: JsonTextOf | null = null;

export function jsonTextOf(text: Uint8Array): JsonText {
  chosen ??= createSimdTexts() ?? wordTextOf;
  return chosen(text);
}
