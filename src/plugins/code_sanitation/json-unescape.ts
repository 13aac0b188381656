// Decodes the escapes of a JSON string in code units.
import { hexValue, SPACE } from "./char-classes.ts";
import { BACKSLASH } from "./char-codes.ts";
import { SIMPLE_ESCAPES, UNICODE_ESCAPE_LENGTH } from "./json-string.ts";

/** Larger buffers are not kept. */
const MAX_KEPT_UNITS = 1 << 20;
const LETTER_U = 0x75;
/** By letter: the control character of a simple escape. */
const CONTROL_CODES: ReadonlyMap<number, number> = new Map(
  Object.entries(SIMPLE_ESCAPES).map(([letter, character]) => [
    letter.charCodeAt(0),
    character.charCodeAt(0),
  ]),
);

let kept = new Uint16Array(0);

/** Returns a buffer for decoded units. The next call may return the same one: a scan is synchronous. */
export function unescapedBuffer(units: number): Uint16Array {
  if (units > MAX_KEPT_UNITS) return new Uint16Array(units);
  if (kept.length < units) kept = new Uint16Array(Math.min(units * 2, MAX_KEPT_UNITS));
  return kept;
}

/** Decodes as `decodeString` does, from units to units. Returns the number of decoded units. */
export function unescapeUnits(json: Uint16Array, start: number, end: number, decoded: Uint16Array): number {
  let length = 0;
  for (let at = start; at < end;) {
    const code = json[at] ?? 0;
    if (code !== BACKSLASH) {
      decoded[length++] = code;
      at++;
      continue;
    }
    const letter = at + 1 < end ? (json[at + 1] ?? 0) : SPACE;
    if (letter === LETTER_U) {
      const escapeEnd = Math.min(at + UNICODE_ESCAPE_LENGTH, end);
      decoded[length++] = hexNumber(json, at + 2, escapeEnd);
      at = escapeEnd;
    } else {
      decoded[length++] = CONTROL_CODES.get(letter) ?? letter;
      at += 2;
    }
  }
  return length;
}

/** Returns the number of the hexadecimal digits up to the first other unit, as Number.parseInt does. */
function hexNumber(units: Uint16Array, from: number, to: number): number {
  let value = 0;
  for (let at = from; at < to; at++) {
    const digit = hexValue(units[at] ?? 0);
    if (digit < 0) break;
    value = value * 16 + digit;
  }
  return value;
}
