// Visits the strings of a JSON text in bytes, keys included, without parsing the text or creating strings.
import { indexOfByte } from "./byte-search.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** A native search costs more than comparing this many bytes. Most keys, and what is between strings, are shorter. */
const NEAR_BYTES = 12;
/** Strings with more escaped quotes are read byte by byte: a native search for each takes 20 ns per byte if there are only such. */
const BYTES_PER_SEARCH = 32;
const FREE_SEARCHES = 8;

/** A range of a JSON text that starts and ends outside of strings. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** The current string, after `next` returned true. Its content is located from `start` up to `end`, quotes excluded. */
export class JsonStrings {
  readonly #bytes: Uint8Array;
  /** The next opening quote; -1 if there is none. */
  #quote: number;
  start = 0;
  end = 0;
  /** The text is not valid JSON: the string that begins at `start` does not end. */
  isInvalid = false;

  /** The text must not change while it is visited. It need not be valid JSON; escapes are not validated. */
  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#quote = quoteFrom(bytes, 0);
  }

  /** Advances to the next string; false if there is none, or if it does not end. */
  next(): boolean {
    if (this.#quote < 0) return false;
    const bytes = this.#bytes;
    const start = this.#quote + 1;
    const end = closingQuote(bytes, start);
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

/** Returns the position of the quote that ends the string whose content starts at `start`, or -1. */
export function closingQuote(bytes: Uint8Array, start: number): number {
  let at = start;
  for (let searches = 0; searches - FREE_SEARCHES <= (at - start) / BYTES_PER_SEARCH; searches++) {
    const quote = quoteFrom(bytes, at);
    if (quote < 0 || !isEscaped(bytes, quote)) return quote;
    at = quote + 1;
  }
  for (; at < bytes.length; at++) {
    if (bytes[at] === QUOTE) return at;
    if (bytes[at] === BACKSLASH) at++;
  }
  return -1;
}

/** Returns whether an odd number of backslashes precedes. Each run of backslashes is counted once, so the work is linear. */
function isEscaped(bytes: Uint8Array, quote: number): boolean {
  let at = quote;
  while (bytes[at - 1] === BACKSLASH) at--;
  return (quote - at) % 2 === 1;
}

function quoteFrom(bytes: Uint8Array, from: number): number {
  const near = Math.min(from + NEAR_BYTES, bytes.length);
  for (let at = from; at < near; at++) if (bytes[at] === QUOTE) return at;
  return indexOfByte(bytes, QUOTE, near);
}
