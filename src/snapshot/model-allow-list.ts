// The models that an API key may use: exact names, and prefixes that end in `*`. Names are compared as they are written.

export class ModelAllowList {
  readonly #names = new Set<string>();
  readonly #prefixes: string[] = [];

  constructor(patterns: readonly string[]) {
    for (const pattern of patterns) {
      if (pattern.endsWith("*")) this.#prefixes.push(pattern.slice(0, -1));
      else this.#names.add(pattern);
    }
  }

  allows(model: string): boolean {
    return this.#names.has(model) || this.#prefixes.some((prefix) => model.startsWith(prefix));
  }
}
