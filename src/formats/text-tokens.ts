// Estimates how many tokens a text has, from the classes of its characters. No vocabulary is needed: one takes megabytes of memory
// per process, and models differ in theirs. An automaton reads every character once, so that the work per character is constant: a few
// lookups and no branch that depends on random data (branches made base64 half as fast). Tokens are added up in whole units, so
// that sums are exact in any order.
import {
  ACCENTED_ROW,
  ASCII_CLASSES,
  CLASS_BITS,
  compilePairs,
  isLatin,
  PUNCTUATION,
  REPEATED,
  ROW_MASK,
  SCRIPT_ROW,
  START,
  START_ROW,
  STATE_OF_ROW,
  tokensBeyondAscii,
  TRANSITIONS,
  UNITS_PER_TOKEN,
  UNITS_SHIFT,
  unitsOf,
} from "./text-automaton.ts";

/** Returns the estimated tokens of a text; not a whole number. */
export function tokensOfText(text: string): number {
  return unitsOfText(text) / UNITS_PER_TOKEN;
}

/** Returns the estimated tokens of a text, in units. */
export function unitsOfText(text: string): number {
  let total = 0;
  let row = START_ROW;
  let last = -1;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= 128) {
      total += unitsOf(tokensBeyondAscii(STATE_OF_ROW[row >> CLASS_BITS] ?? START, code));
      row = isLatin(code) ? ACCENTED_ROW : SCRIPT_ROW;
      last = -1;
      continue;
    }
    let kind = ASCII_CLASSES[code] ?? PUNCTUATION;
    if (kind === PUNCTUATION && code === last) kind = REPEATED;
    const entry = TRANSITIONS[row | kind] ?? 0;
    total += entry >> UNITS_SHIFT;
    row = entry & ROW_MASK;
    last = code;
  }
  return total;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** The characters of the escape sequences `\"`, `\\`, `\/`, `\n`, `\r` and `\t`; 0 for others. */
export const ESCAPED_CHARACTERS = new Uint8Array(256);
for (const [letter, character] of ['""', "\\\\", "//", "n\n", "r\r", "t\t"].map((pair) => Buffer.from(pair)))
  ESCAPED_CHARACTERS[letter ?? 0] = character ?? 0;

/** The class of a byte in the lower bits, whether it is punctuation, and whether it has to be looked at by itself. */
const CLASS_MASK = 0x0f;
const PUNCTUATION_BIT = 4;
const STOP = 0x80;
const BYTE_CLASSES = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte >= 128 || byte === QUOTE || byte === BACKSLASH) return STOP;
  const kind = ASCII_CLASSES[byte] ?? PUNCTUATION;
  return kind === PUNCTUATION ? kind | (1 << PUNCTUATION_BIT) : kind;
});
/** Compiled for the first text: not every process estimates tokens, and the table has 75 kB. */
let pairTable: Int32Array | null = null;
/** No byte: differs from every other one. */
const NO_BYTE = 256;

/** The units and the end of a text that was read in JSON. */
export interface ReadText {
  units: number;
  /** The index of the closing quote. */
  end: number;
}

/**
 * Reads the content of a JSON string that starts at `start`, whose JSON is valid. Returns false if it has other characters than ASCII or
 * rare escape sequences: then it has to be decoded for `unitsOfText`.
 */
export function readAsciiText(bytes: Uint8Array, start: number, into: ReadText): boolean {
  const pairs = (pairTable ??= compilePairs());
  let total = 0;
  let row = START_ROW << CLASS_BITS;
  let last = NO_BYTE;
  let at = start;
  const end = bytes.length - 1;
  for (;;) {
    // Two bytes at a time: each lookup waits for the one before, which takes most of the time.
    while (at < end) {
      const first = bytes[at] ?? 0;
      const second = bytes[at + 1] ?? 0;
      const ofFirst = BYTE_CLASSES[first] ?? 0;
      const ofSecond = BYTE_CLASSES[second] ?? 0;
      if (((ofFirst | ofSecond) & STOP) !== 0) break;
      // REPEATED is PUNCTUATION + 1. The sign of the difference is set for equal bytes.
      const firstKind =
        (ofFirst & CLASS_MASK) + ((((first ^ last) - 1) >>> 31) & (ofFirst >> PUNCTUATION_BIT));
      const secondKind =
        (ofSecond & CLASS_MASK) + ((((second ^ first) - 1) >>> 31) & (ofSecond >> PUNCTUATION_BIT));
      const entry = pairs[row | (firstKind << CLASS_BITS) | secondKind] ?? 0;
      total += entry >> UNITS_SHIFT;
      row = entry & ROW_MASK;
      last = second;
      at += 2;
    }
    if (at > end) return false;
    let code = bytes[at] ?? 0;
    if (code === QUOTE) {
      into.units = total;
      into.end = at;
      return true;
    }
    if (code === BACKSLASH) {
      code = ESCAPED_CHARACTERS[bytes[++at] ?? 0] ?? 0;
      if (code === 0) return false;
    } else if (code >= 128) return false;
    let kind = ASCII_CLASSES[code] ?? PUNCTUATION;
    if (kind === PUNCTUATION && code === last) kind = REPEATED;
    const entry = TRANSITIONS[(row >> CLASS_BITS) | kind] ?? 0;
    total += entry >> UNITS_SHIFT;
    row = (entry & ROW_MASK) << CLASS_BITS;
    last = code;
    at++;
  }
}
