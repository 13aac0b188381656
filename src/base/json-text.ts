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
  /** False if all bytes of the strings whose ends were found are ASCII. Code that finds an end itself sets it. */
  mayHaveHighBytes: boolean;
}

/** Returns a text that is valid until the next call. */
export type JsonTextOf = (text: Uint8Array) => JsonText;
