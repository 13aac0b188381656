// Validates a JSON text in UTF-8 and locates selected top-level fields without creating strings or objects: most requests
// need only `model` and `stream` of a body that may be hundreds of kilobytes long.
import { isUtf8 } from "node:buffer";
import { hasByteOrderMark, utf8Between } from "./byte-search.ts";
import { foldCase } from "./fold-case.ts";
import { endOfScalar, hasBytesAt } from "./json-scalar.ts";
import { jsonTextOf } from "./json-string-end.ts";
import {
  INVALID,
  TOO_DEEP,
  TOO_DENSE,
  type JsonText,
  type JsonTextOf,
  type NestedState,
} from "./json-text.ts";

/** Texts with deeper nesting are reported as too deep: code that walks them recursively would overflow the stack. */
export const MAX_DEPTH = 512;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const BACKSLASH = 0x5c;
/** How the two characters beyond ASCII that fold to letters of ASCII begin in UTF-8. */
const LONG_S_BYTE = 0xc5;
const KELVIN_BYTE = 0xe2;
const FOLDED = /[\u017f\u212a]/;

/** Decoding a key with escapes takes as long as reading about this many other values. */
const ESCAPED_KEY_WORK = 32;

/** Longer keys are not compared with the suffixes. Those of APIs are shorter. */
const NEAR_KEY_BYTES = 24;

interface ScannerOptions {
  /** Only the first so many names, by default all, set `duplicate` and `variant`. */
  readonly uniqueCount?: number;
  /** Ends of keys that `mayHaveSuffixes` reports: two or more ASCII characters, the last one different in each; default none. */
  readonly keySuffixes?: readonly string[];
  readonly textOf?: JsonTextOf;
}

/** What the text holds at its top level. */
type ScanResult = "object" | "other" | "invalid" | "too_deep" | "too_dense";

/** Scans one text at a time: `startOf`, `endOf`, and the fields below describe the text of the last `scan`. */
export class JsonScanner implements NestedState {
  /** The name of a watched field that occurred more than once, else null. The last one is located, which is the one JSON.parse returns. */
  duplicate: string | null = null;
  /** The name of a watched field from which a key differs only in case, else null. Some servers take such a key for the field. */
  variant: string | null = null;
  /** A key, at any depth, ends with one of the suffixes, or may do so: it is spelled with escapes, or long. */
  mayHaveSuffixes = false;
  readonly #names: readonly Buffer[];
  /** The names with their letters in lower case. */
  readonly #lowerNames: readonly Buffer[];
  /** The indexes of the names by their length: most keys have the length of few names. */
  readonly #byLength: readonly (readonly number[])[];
  readonly #uniqueCount: number;
  readonly #textOf: JsonTextOf;
  readonly suffixes: readonly Uint8Array[];
  /** By the last byte of each suffix, the byte before it: nearly all other keys differ in one of both. */
  readonly #beforeLast = new Uint8Array(256);
  readonly #starts: Int32Array;
  readonly #ends: Int32Array;
  /** Whether a unique name occurred. */
  readonly #occurred: Uint8Array;
  /** The closing byte that each open object or array needs. */
  readonly #closers = new Uint8Array(MAX_DEPTH + 1);
  /** The watched field whose value is being read, or -1. */
  #field = -1;
  workLeft = Infinity;

  constructor(
    names: readonly string[],
    { uniqueCount = names.length, keySuffixes = [], textOf = jsonTextOf }: ScannerOptions = {},
  ) {
    this.suffixes = keySuffixes.map((suffix) => Buffer.from(suffix));
    for (const suffix of this.suffixes) this.#beforeLast[suffix.at(-1) ?? 0] = suffix.at(-2) ?? 0;
    this.#uniqueCount = uniqueCount;
    this.#textOf = textOf;
    this.#names = names.map((name) => Buffer.from(name));
    this.#lowerNames = names.map((name) => Buffer.from(name.toLowerCase()));
    const longest = this.#names.reduce((length, name) => Math.max(length, name.length), 0);
    this.#byLength = Array.from({ length: longest + 1 }, (_, length) =>
      [...this.#names.keys()].filter((index) => this.#names[index]?.length === length),
    );
    this.#starts = new Int32Array(names.length);
    this.#ends = new Int32Array(names.length);
    this.#occurred = new Uint8Array(names.length);
  }

  /**
   * Returns "invalid" exactly where decoding the bytes as UTF-8 and parsing them with JSON.parse would throw. Returns "too_dense" after
   * `maxValues` values, which decide how long a scan takes: the bytes of strings take less than 1 ns each.
   */
  scan(text: Uint8Array, maxValues = Infinity): ScanResult {
    this.workLeft = maxValues;
    this.#starts.fill(-1);
    this.#occurred.fill(0);
    this.duplicate = null;
    this.variant = null;
    this.mayHaveSuffixes = false;
    this.#field = -1;
    const json = this.#textOf(text);
    const { bytes } = json;
    const start = skipWhitespace(bytes, hasByteOrderMark(bytes) ? 3 : 0);
    const end = this.#scanValue(json, start);
    if (end === INVALID || (end >= 0 && skipWhitespace(bytes, end) < text.length)) return "invalid";
    // Outside of strings, all bytes of a complete scan are ASCII.
    const isAscii = end >= 0 && !json.mayHaveHighBytes;
    if (!isAscii && !isUtf8(text)) return "invalid";
    if (end === TOO_DEEP) return "too_deep";
    if (end === TOO_DENSE) return "too_dense";
    return bytes[start] === OPEN_BRACE ? "object" : "other";
  }

  /** Returns where the value of a field starts, by its index among the names given to the constructor; -1 if it is absent. */
  startOf(index: number): number {
    return this.#starts[index] ?? -1;
  }

  /** Returns the index after the value of a field that is present. */
  endOf(index: number): number {
    return this.#ends[index] ?? -1;
  }

  /** Returns the index after the value at `start`. A loop instead of recursion: the client decides about the depth. */
  #scanValue(json: JsonText, start: number): number {
    const { bytes } = json;
    const closers = this.#closers;
    let depth = 0;
    let at = start;
    for (;;) {
      if (--this.workLeft < 0) return TOO_DENSE;
      const byte = bytes[at];
      if (depth === 1 && (byte === OPEN_BRACE || byte === OPEN_BRACKET) && json.readsNested) {
        at = json.endOfNested(at, this);
        if (at < 0) return at;
        this.#endField(at);
        at = skipWhitespace(bytes, at);
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        if (depth === MAX_DEPTH) return TOO_DEEP;
        const closer = byte === OPEN_BRACE ? CLOSE_BRACE : CLOSE_BRACKET;
        closers[++depth] = closer;
        at = skipWhitespace(bytes, at + 1);
        if (bytes[at] !== closer) {
          if (closer === CLOSE_BRACE && (at = this.#scanKey(json, at, depth)) < 0) return INVALID;
          continue;
        }
      } else {
        at = byte === QUOTE ? json.endOfString(at + 1) : endOfScalar(bytes, at);
        if (at < 0) return INVALID;
        if (depth === 0) return at;
        if (depth === 1) this.#endField(at);
        at = skipWhitespace(bytes, at);
      }
      // After a value, or at the closing byte of an empty object or array.
      while (bytes[at] === closers[depth]) {
        at++;
        if (--depth === 0) return at;
        if (depth === 1) this.#endField(at);
        at = skipWhitespace(bytes, at);
      }
      if (bytes[at] !== COMMA) return INVALID;
      at = skipWhitespace(bytes, at + 1);
      if (closers[depth] === CLOSE_BRACE && (at = this.#scanKey(json, at, depth)) < 0) return INVALID;
    }
  }

  /** Returns the index where the value of the key at `start` begins. */
  #scanKey(json: JsonText, start: number, depth: number): number {
    const { bytes } = json;
    if (bytes[start] !== QUOTE) return INVALID;
    const end = this.#endOfKey(json, start + 1);
    if (end < 0) return INVALID;
    const colon = skipWhitespace(bytes, end);
    if (bytes[colon] !== COLON) return INVALID;
    const value = skipWhitespace(bytes, colon + 1);
    if (depth === 1) this.#beginField(bytes, start, end, value);
    return value;
  }

  /** As `endOfString`, for a key. Sets `mayHaveSuffixes`. */
  #endOfKey(json: JsonText, start: number): number {
    const { bytes } = json;
    const limit = start + NEAR_KEY_BYTES;
    let united = 0;
    for (let at = start; at < limit; at++) {
      const byte = bytes[at] ?? 0;
      if (byte === QUOTE) {
        if (united >= 0x80) json.mayHaveHighBytes = true;
        if (this.#beforeLast[bytes[at - 1] ?? 0] === bytes[at - 2] && this.#hasSuffix(bytes, start, at))
          this.mayHaveSuffixes = true;
        return at + 1;
      }
      if (byte === BACKSLASH) break;
      if (byte < 0x20) return INVALID;
      united |= byte;
    }
    this.mayHaveSuffixes = true;
    return json.endOfString(start);
  }

  /** Whether the key from `start` to `end`, quotes excluded, ends with a suffix. */
  #hasSuffix(bytes: Uint8Array, start: number, end: number): boolean {
    for (const suffix of this.suffixes)
      if (end - suffix.length >= start && hasBytesAt(bytes, end - suffix.length, suffix)) return true;
    return false;
  }

  #beginField(bytes: Uint8Array, keyStart: number, keyEnd: number, valueStart: number): void {
    this.#field = this.#fieldNamed(bytes, keyStart, keyEnd);
    if (this.#field >= 0) this.#starts[this.#field] = valueStart;
  }

  #endField(end: number): void {
    if (this.#field < 0) return;
    this.#ends[this.#field] = end;
    this.#field = -1;
  }

  /** Returns the index of the name that the key spells, quotes included in its bounds, or -1. */
  #fieldNamed(bytes: Uint8Array, start: number, end: number): number {
    const index = this.#indexOf(bytes, start + 1, end - start - 2);
    // A key may spell a name with escapes, such as `"m\u006fdel"`, or with letters that fold to those of ASCII.
    if (index >= 0 || !mayBeOtherSpelling(bytes, start, end)) return index;
    this.workLeft -= ESCAPED_KEY_WORK;
    const key = String(JSON.parse(utf8Between(bytes, start, end)));
    const decoded = Buffer.from(key);
    const found = this.#indexOf(decoded, 0, decoded.length);
    if (found < 0 && FOLDED.test(key)) this.#findVariant(Buffer.from(foldCase(key)));
    return found;
  }

  #findVariant(folded: Buffer): void {
    for (let index = 0; index < this.#uniqueCount; index++)
      if (this.#lowerNames[index]?.equals(folded) === true)
        this.variant ??= this.#names[index]?.toString() ?? null;
  }

  /** Returns the index of the name with these bytes, or -1. */
  #indexOf(bytes: Uint8Array, start: number, length: number): number {
    const candidates = this.#byLength[length];
    if (candidates === undefined) return -1;
    for (const index of candidates) {
      const [name, lower] = [this.#names[index], this.#lowerNames[index]];
      if (name === undefined || lower === undefined) continue;
      const isUnique = index < this.#uniqueCount;
      if (hasBytesAt(bytes, start, name)) {
        if (isUnique) this.#count(index);
        return index;
      }
      if (isUnique && hasLettersAt(bytes, start, lower)) this.variant ??= name.toString();
    }
    return -1;
  }

  #count(index: number): void {
    if (this.#occurred[index] === 1) this.duplicate ??= this.#names[index]?.toString() ?? null;
    this.#occurred[index] = 1;
  }
}

function skipWhitespace(bytes: Uint8Array, start: number): number {
  let at = start;
  for (
    let byte = bytes[at];
    byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
    byte = bytes[at]
  )
    at++;
  return at;
}

/** Compares without regard to case. The expected bytes are in lower case. */
function hasLettersAt(bytes: Uint8Array, at: number, expected: Uint8Array): boolean {
  for (let index = 0; index < expected.length; index++) {
    const byte = bytes[at + index] ?? 0;
    const lower = byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte;
    if (lower !== expected[index]) return false;
  }
  return true;
}

/** Whether a key has escapes, or may have a character that folds to a letter of ASCII. */
function mayBeOtherSpelling(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const byte = bytes[at];
    if (byte === BACKSLASH || byte === LONG_S_BYTE || byte === KELVIN_BYTE) return true;
  }
  return false;
}
