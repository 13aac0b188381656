// The interface of the implementations that find the ends of strings in a JSON text.

/** A JSON text whose strings are searched. */
export interface JsonText {
  /** The text. A byte after its length, if there is one, is 0. */
  readonly bytes: Uint8Array;
  /**
   * Returns the index after the closing quote of the string whose content starts at `start`, or -1 where the string is not
   * valid JSON. It is not checked whether the text is valid UTF-8.
   */
  readonly endOfString: (start: number) => number;
  /**
   * Whether `endOfNested` may be called. Without it, the caller reads the values in an object or array itself.
   */
  readonly readsNested: boolean;
  /**
   * Returns the index after the object or array at `start`, which is in the outermost one, or the negative number that says why there is
   * none. Updates `state`.
   */
  readonly endOfNested: (start: number, state: NestedState) => number;
  /** False if all bytes of the strings whose ends were found are ASCII. Code that finds an end itself sets it. */
  mayHaveHighBytes: boolean;
}

/** Why a value has no end: it is not valid JSON, is nested too deeply, or has too many values. */
export const INVALID = -1;
export const TOO_DEEP = -2;
export const TOO_DENSE = -3;

/** What a scan counts and finds in objects and arrays. */
export interface NestedState {
  /** Ends of keys: two or more ASCII characters, the last one different in each. */
  readonly suffixes: readonly Uint8Array[];
  /** A key ends with one of the suffixes, or may do so: it is spelled with escapes, or long. */
  mayHaveSuffixes: boolean;
  /** How many more values may be read. */
  workLeft: number;
}

/** Returns a text that is valid until the next call. */
export type JsonTextOf = (text: Uint8Array) => JsonText;
