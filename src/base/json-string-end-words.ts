// Finds the end of a JSON string in bytes, four bytes at a time, where WebAssembly with SIMD is not available: a loop over single
// bytes takes three times as long as the native parser (measured with bench/json-scanner.bench.ts).
import { INVALID, type JsonText } from "./json-text.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;

/** The bytes that may follow a backslash: `"\/bfnrt` and `u`. */
const IS_ESCAPE = new Uint8Array(256);
for (const byte of Buffer.from('"\\/bfnrtu')) IS_ESCAPE[byte] = 1;

const IS_HEX = new Uint8Array(256);
for (const byte of Buffer.from("0123456789abcdefABCDEF")) IS_HEX[byte] = 1;

const EACH = 0x01010101;
const HIGH_BITS = 0x80808080 | 0;
const QUOTES = 0x22222222;
const BACKSLASHES = 0x5c5c5c5c;
const SPACES = 0x20202020;

/** Shared by all short texts: creating a view of a text's own memory costs more than copying it. Created on first use. */
let scratch: { readonly bytes: Uint8Array; readonly words: Int32Array } | null = null;
const SCRATCH_BYTES = 64 * 1024;

class WordText implements JsonText {
  /** Not examined. */
  mayHaveHighBytes = true;
  readonly readsNested = false;
  readonly bytes: Uint8Array;
  readonly length: number;
  /** `words[(offset + at) >> 2]` holds byte `at` where that is aligned. */
  readonly words: Int32Array;
  readonly wordCount: number;
  readonly offset: number;

  constructor(bytes: Uint8Array, length: number, words: Int32Array, wordCount: number, offset: number) {
    this.bytes = bytes;
    this.length = length;
    this.words = words;
    this.wordCount = wordCount;
    this.offset = offset;
  }

  /** Not called, see `readsNested`. */
  endOfNested(): number {
    return INVALID;
  }

  endOfString(start: number): number {
    const { bytes } = this;
    let at = start;
    for (;;) {
      at = endOfRun(this, at);
      const byte = bytes[at];
      if (byte === QUOTE) return at + 1;
      if (byte !== BACKSLASH) return -1;
      const escape = bytes[at + 1] ?? 0;
      if (IS_ESCAPE[escape] === 0) return -1;
      at += 2;
      if (escape !== LETTER_U) continue;
      for (const end = at + 4; at < end; at++) if (IS_HEX[bytes[at] ?? 0] !== 1) return -1;
    }
  }
}

/** The result is valid until the next call. */
export function wordTextOf(text: Uint8Array): JsonText {
  const { length } = text;
  if (length >= SCRATCH_BYTES) return longTextOf(text);
  if (scratch === null) {
    const bytes = new Uint8Array(SCRATCH_BYTES);
    scratch = { bytes, words: new Int32Array(bytes.buffer) };
  }
  scratch.bytes.set(text);
  scratch.bytes[length] = 0;
  return new WordText(scratch.bytes, length, scratch.words, length >> 2, 0);
}

function longTextOf(bytes: Uint8Array): WordText {
  const { buffer, byteOffset, length } = bytes;
  const offset = byteOffset & 3;
  const first = byteOffset - offset;
  const wordCount = (byteOffset + length - first) >> 2;
  return new WordText(bytes, length, new Int32Array(buffer, first, wordCount), wordCount, offset);
}

/** Returns the index of the first quote, backslash or control character from `start` on, or the length. */
function endOfRun({ bytes, length, words, wordCount, offset }: WordText, start: number): number {
  let at = start;
  while (((at + offset) & 3) !== 0) {
    if (at >= length || endsRun(bytes[at] ?? 0)) return at;
    at++;
  }
  let index = (at + offset) >> 2;
  const lastBlock = wordCount - 4;
  // Type assertions, because these indexes are in bounds: `?? 0` was measured to make this loop slower by a third.
  while (index <= lastBlock) {
    const first = words[index] as number;
    const second = words[index + 1] as number;
    const third = words[index + 2] as number;
    const fourth = words[index + 3] as number;
    if (((endMarks(first) | endMarks(second) | endMarks(third) | endMarks(fourth)) & HIGH_BITS) !== 0) break;
    index += 4;
  }
  while (index < wordCount && (endMarks(words[index] as number) & HIGH_BITS) === 0) index++;
  at = (index << 2) - offset;
  while (at < length && !endsRun(bytes[at] ?? 0)) at++;
  return at;
}

function endsRun(byte: number): boolean {
  return byte < 0x20 || byte === QUOTE || byte === BACKSLASH;
}

/**
 * Sets the high bit of each of the four bytes that is a quote, a backslash or below 0x20. Subtracting borrows from the next
 * byte, so that the byte after a match may be marked as well; a match is never missed.
 */
function endMarks(word: number): number {
  const quotes = word ^ QUOTES;
  const backslashes = word ^ BACKSLASHES;
  return ((quotes - EACH) & ~quotes) | ((backslashes - EACH) & ~backslashes) | ((word - SPACES) & ~word);
}
