// What a translation left out of a request, for the header X-GW-Translated. Nothing is left out silently.

export class TranslationReport {
  readonly #dropped = new Set<string>();

  /** Records that a field of the request, such as `seed`, has no equivalent in the target's format. */
  drop(field: string): void {
    this.#dropped.add(field);
  }

  /** Records each of the fields that the request has. Null counts as absent. */
  dropPresent(request: Readonly<Record<string, unknown>>, fields: readonly string[]): void {
    for (const field of fields) if ((request[field] ?? null) !== null) this.drop(field);
  }

  /** In the order in which they were dropped. */
  get dropped(): readonly string[] {
    return [...this.#dropped];
  }
}
