// A value that was found in a text.

export interface Finding {
  /** A built-in type or the name of a custom pattern. */
  readonly type: string;
  readonly start: number;
  readonly end: number;
}
