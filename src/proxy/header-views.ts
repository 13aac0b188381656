// Headers as plugins read them: without methods that change them.
import type { HeaderFields } from "../http/header-fields.ts";
import type { ReadonlyHeaders } from "../sdk/index.ts";

export class HeadersView implements ReadonlyHeaders {
  readonly #headers: HeaderFields;

  constructor(headers: HeaderFields) {
    this.#headers = headers;
  }
  get(name: string): string | null {
    return this.#headers.get(name.toLowerCase());
  }
  has(name: string): boolean {
    return this.#headers.has(name.toLowerCase());
  }
  entries(): IterableIterator<[string, string]> {
    return this.#headers.entries();
  }
}

/** A view of headers that are kept in a record with names in lower case. */
export class RecordHeaders implements ReadonlyHeaders {
  readonly #record: Record<string, string>;

  constructor(record: Record<string, string>) {
    this.#record = record;
  }
  get(name: string): string | null {
    return this.#record[name.toLowerCase()] ?? null;
  }
  has(name: string): boolean {
    return this.get(name) !== null;
  }
  entries(): IterableIterator<[string, string]> {
    return Object.entries(this.#record)[Symbol.iterator]();
  }
}

export const NO_HEADERS: ReadonlyHeaders = new RecordHeaders({});
