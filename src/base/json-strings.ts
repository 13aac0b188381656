// Visits the strings of a JSON text in bytes, keys included, without parsing the text or creating strings.
import { indexOfByte } from "./byte-search.ts";
import { endOfString, lastingWordViewOf, type WordView } from "./json-string-end.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** A native search costs more than comparing this many bytes. Most keys, and what is between strings, are shorter. */
const NEAR_BYTES = 12;

/** A range of a JSON text that starts and ends outside of strings. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** The current string, after `next` returned true. Its content is located from `start` up to `end`, quotes excluded. */
export class JsonStrings {
  readonly #bytes: Uint8Array;
  #view: WordView | null = null;
  /** The next opening quote; -1 if there is none. */
  #quote: number;
  start = 0;
  end = 0;
  /** The text is not valid JSON: the string that begins at `start` does not end, or has an invalid escape. */
  isInvalid = false;

  /** The text must be valid UTF-8. It need not be valid JSON, and must not change while it is visited. */
  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#quote = quoteFrom(bytes, 0);
  }

  /** Advances to the next string; false if there is none, or if it is invalid. */
  next(): boolean {
    if (this.#quote < 0) return false;
    const bytes = this.#bytes;
    const start = this.#quote + 1;
    let end = quoteFrom(bytes, start);
    // An escaped quote. Searching natively for the next one would take 20 ns per byte in a string that consists of them.
    if (end > start && bytes[end - 1] === BACKSLASH)
      end = endOfString((this.#view ??= lastingWordViewOf(bytes)), start) - 1;
    this.start = start;
    if (end < 0) {
      this.isInvalid = true;
      this.#quote = -1;
      return false;
    }
    this.end = end;
    this.#quote = quoteFrom(bytes, end + 1);
    return true;
  }

  /** Skips the strings before the range. Returns whether there is a next string, and it is in the range. */
  isNextIn({ start, end }: ByteRange): boolean {
    if (this.#quote >= 0 && this.#quote < start) this.#quote = quoteFrom(this.#bytes, start);
    return this.#quote >= 0 && this.#quote < end;
  }
}

function quoteFrom(bytes: Uint8Array, from: number): number {
  const near = Math.min(from + NEAR_BYTES, bytes.length);
  for (let at = from; at < near; at++) if (bytes[at] === QUOTE) return at;
  return indexOfByte(bytes, QUOTE, near);
}
