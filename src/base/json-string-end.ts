// Finds the end of a JSON string in bytes, four bytes at a time: long prompts are almost only string content, and a loop over
// single bytes takes three times as long as the native parser (measured with bench/json-scanner.bench.ts).

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

/** A text as bytes, and the same memory as words of four bytes. */
export interface WordView {
  /** A byte after `length`, if there is one, is 0. */
  readonly bytes: Uint8Array;
  readonly length: number;
  /** `words[(offset + at) >> 2]` holds byte `at` where that is aligned. */
  readonly words: Int32Array;
  readonly wordCount: number;
  readonly offset: number;
}

/** Shared by all short texts: creating a view of a text's own memory costs more than copying it. */
const scratchBytes = new Uint8Array(64 * 1024);
const scratchWords = new Int32Array(scratchBytes.buffer);

/** The view is valid until the next call. */
export function wordViewOf(text: Uint8Array): WordView {
  const { length } = text;
  if (length >= scratchBytes.length) return viewOfLong(text);
  scratchBytes.set(text);
  scratchBytes[length] = 0;
  return { bytes: scratchBytes, length, words: scratchWords, wordCount: length >> 2, offset: 0 };
}

function viewOfLong(bytes: Uint8Array): WordView {
  const { buffer, byteOffset, length } = bytes;
  const offset = byteOffset & 3;
  const first = byteOffset - offset;
  const wordCount = (byteOffset + length - first) >> 2;
  return { bytes, length, words: new Int32Array(buffer, first, wordCount), wordCount, offset };
}

/**
 * Returns the index after the closing quote of the string whose content starts at `start`, or -1 where the string is not
 * valid JSON. The bytes must be valid UTF-8.
 */
export function endOfString(view: WordView, start: number): number {
  const { bytes } = view;
  let at = start;
  for (;;) {
    at = endOfRun(view, at);
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

/** Returns the index of the first quote, backslash or control character from `start` on, or the length. */
function endOfRun({ bytes, length, words, wordCount, offset }: WordView, start: number): number {
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
