// Headers inside an isolate: a copy of those of the gateway, with the changes of the hook.
import type { ReadonlyHeaders } from "../../sdk/index.ts";

export type HeaderEntries = readonly (readonly [string, string])[];

export class PlainHeaders implements ReadonlyHeaders {
  readonly #fields: Map<string, string>;

  constructor(entries: HeaderEntries) {
    this.#fields = new Map(entries);
  }
  get(name: string): string | null {
    return this.#fields.get(name.toLowerCase()) ?? null;
  }
  has(name: string): boolean {
    return this.#fields.has(name.toLowerCase());
  }
  entries(): IterableIterator<[string, string]> {
    return this.#fields.entries();
  }
  /** Null removes the header. Not part of the type that plugins see. */
  set(name: string, value: string | null): void {
    if (value === null) this.#fields.delete(name.toLowerCase());
    else this.#fields.set(name.toLowerCase(), value);
  }
}
