// Visits the strings of a JSON text as code units: in place if they have no escapes, else decoded into a reused buffer.
import { stringEnd, type StringToken } from "./json-string.ts";
import { unescapedBuffer, unescapeUnits } from "./json-unescape.ts";
import { CodeUnitBuffer } from "./scratch-buffer.ts";

/** Part of a JSON text. Starts and ends outside of strings. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

const NO_RANGES: readonly TextRange[] = [];

/** The code units of the JSON text. Separate from the detector's buffer, which holds a decoded string of it meanwhile. */
const jsonUnits = new CodeUnitBuffer();
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
    this.units = unescapedBuffer(end - start);
    this.from = 0;
    this.to = unescapeUnits(this.#json, start, end, this.units);
  }
}

/** Returns the position of the next backslash, or Infinity. */
function nextBackslash(text: string, from: number): number {
  const at = text.indexOf("\\", from);
  return at < 0 ? Infinity : at;
}
