// The header fields of a request or response, as most code sees them.

/** Header fields for code that only reads them. Names are given in lower case. */
export interface ReadableFields {
  get(name: string): string | null;
  has(name: string): boolean;
}
