// Header fields as plugins read them.

export interface ReadonlyHeaders {
  get(name: string): string | null;
  has(name: string): boolean;
  /** Names are in lower case. */
  entries(): IterableIterator<[string, string]>;
}
