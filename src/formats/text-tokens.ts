// Estimates how many tokens a text has, from the classes of its characters. No vocabulary is needed: one takes megabytes of memory
// per process, and models differ in theirs. An automaton reads every character once, so that the work per character is constant: a few
// lookups and no branch that depends on random data (branches made base64 half as fast). Tokens are added up in whole units, so
// that sums are exact in any order.
import {
  ACCENTED_ROW,
  ASCII_CLASSES,
  CLASS_BITS,
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

/** The characters of the escape sequences `\"`, `\\`, `\/`, `\n`, `\r` and `\t`; 0 for others. */
export const ESCAPED_CHARACTERS = new Uint8Array(256);
for (const [letter, character] of ['""', "\\\\", "//", "n\n", "r\r", "t\t"].map((pair) => Buffer.from(pair)))
  ESCAPED_CHARACTERS[letter ?? 0] = character ?? 0;
