// The strings of a request that are no texts, each once: a request repeats most of them in every message.
import { KNOWN_KEYS } from "./request-text-fields.ts";
import type { RequestIdentifier } from "./request-text.ts";

export class IdentifierList {
  readonly list: RequestIdentifier[] = [];
  readonly #keys = new Set<string>();
  readonly #values = {
    identifier: new Set<string>(),
    url: new Set<string>(),
    // A version that looks like an address must not hide an id that is one.
    version: new Set<string>(),
  };

  addKeys(keys: readonly string[]): void {
    for (const key of keys) {
      if (KNOWN_KEYS.has(key) || this.#keys.has(key)) continue;
      this.#keys.add(key);
      this.list.push({ kind: "key", field: "", text: key });
    }
  }

  add(kind: "identifier" | "url", field: string, text: string): void {
    const known = this.#values[field === "version" ? "version" : kind];
    if (known.has(text)) return;
    known.add(text);
    this.list.push({ kind, field, text });
  }
}
