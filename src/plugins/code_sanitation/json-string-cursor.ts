// Visits the strings of a JSON text as code units: in place if they have no escapes, else decoded into a reused buffer.
import { hexValue, SPACE } from "./char-classes.ts";
import { BACKSLASH } from "./char-codes.ts";
import { SIMPLE_ESCAPES, stringEnd, UNICODE_ESCAPE_LENGTH, type StringToken } from "./json-string.ts";
import { CodeUnitBuffer } from "./scratch-buffer.ts";

/** Part of a JSON text. Starts and ends outside of strings. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

const NO_RANGES: readonly TextRange[] = [];

/** The code units of the JSON text. Separate from the detector's buffer, which holds a decoded string of it meanwhile. */
const jsonUnits = new CodeUnitBuffer();
/** The code units of a string with escapes, decoded. */
let decodedUnits = new Uint16Array(0);
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

/** The current string, after `next` returned true. */
export class StringCursor implements StringToken {
  readonly #text: string;
  readonly #json: Uint16Array;
  readonly #ranges: readonly TextRange[];
  /** The index of the next range. */
  #nextRange = 0;
  #rangeEnd: number;
  /** The next opening quote. Kept from range to range: searching again for each would take quadratic time if it is far away. */
  #quote: number;
  #nextBackslash: number;
  start = 0;
  end = 0;
  /** The decoded units are located in `units`, from `from` up to `to`. */
  units: Uint16Array;
  from = 0;
  to = 0;

  /** `ranges` is null for the whole text. */
  constructor(text: string, ranges: readonly TextRange[] | null) {
    this.#text = text;
    this.#ranges = ranges ?? NO_RANGES;
    this.#rangeEnd = ranges === null ? text.length : 0;
    this.#json = jsonUnits.read(text);
    this.units = this.#json;
    this.#quote = text.indexOf('"');
    this.#nextBackslash = nextBackslash(text, 0);
  }

  /** Advances to the next string in the ranges; false if there is none. */
  next(): boolean {
    if (this.#quote < 0 || (this.#quote >= this.#rangeEnd && !this.#advanceToRange())) return false;
    const text = this.#text;
    const start = this.#quote + 1;
    const end = stringEnd(text, start);
    this.#quote = text.indexOf('"', end + 1);
    this.start = start;
    this.end = end;
    if (this.#nextBackslash < start) this.#nextBackslash = nextBackslash(text, start);
    if (this.#nextBackslash < end) {
      this.#decode();
      return true;
    }
    this.units = this.#json;
    this.from = start;
    this.to = end;
    return true;
  }

  /** Moves to the range of the next quote, and past the quotes between ranges. */
  #advanceToRange(): boolean {
    while (this.#quote >= this.#rangeEnd) {
      const range = this.#ranges[this.#nextRange++];
      if (range === undefined) return false;
      this.#rangeEnd = range.end;
      if (this.#quote < range.start) this.#quote = this.#text.indexOf('"', range.start);
      if (this.#quote < 0) return false;
    }
    return true;
  }

  #decode(): void {
    const { start, end } = this;
    if (decodedUnits.length < end - start) decodedUnits = new Uint16Array((end - start) * 2);
    this.units = decodedUnits;
    this.from = 0;
    this.to = decodeUnits(this.#json, start, end, decodedUnits);
    // A very long string must not keep its memory.
    if (decodedUnits.length > MAX_KEPT_UNITS) decodedUnits = new Uint16Array(0);
  }
}

/** Decodes as `decodeString` does, but to units. Returns their number. */
function decodeUnits(json: Uint16Array, start: number, end: number, decoded: Uint16Array): number {
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

/** Returns the position of the next backslash, or Infinity. */
function nextBackslash(text: string, from: number): number {
  const at = text.indexOf("\\", from);
  return at < 0 ? Infinity : at;
}
