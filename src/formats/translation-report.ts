// What a translation left out of a request, for the header X-GW-Translated, the request log, and explanations. Nothing is left
// out silently. Also where the messages and tool calls of the hub format come from, for errors.

/** Clients choose the names of unknown fields. All names with their commas fit into a header value of 256 characters. */
const MAX_CHARACTERS = 240;
const MAX_NAME_CHARACTERS = 64;
/** Follows the names if there are more. */
const MORE = "...";

export class TranslationReport {
  readonly #dropped = new Set<string>();
  readonly #origins = new Map<unknown, string>();
  #characters = 0;
  /** The stop sequences that are searched in the response, because the target has none. */
  emulatedStop: readonly string[] = [];

  /** Records that a field of the request, such as `seed`, has no equivalent in the target's format. */
  drop(field: string): void {
    const name = field.length > MAX_NAME_CHARACTERS ? shortened(field) : field;
    if (this.#characters > MAX_CHARACTERS || this.#dropped.has(name)) return;
    this.#characters += name.length + 1;
    this.#dropped.add(this.#characters > MAX_CHARACTERS ? MORE : name);
  }

  /** Records each of the fields that the request has. Null counts as absent. */
  dropPresent(request: Readonly<Record<string, unknown>>, fields: readonly string[]): void {
    for (const field of fields) if ((request[field] ?? null) !== null) this.drop(field);
  }

  /** Records the path of what became a message or tool call of the hub format, such as `input[2]`. */
  setOrigin(part: object, path: string): void {
    this.#origins.set(part, path);
  }

  originOf(part: unknown): string | null {
    return this.#origins.get(part) ?? null;
  }

  /** In the order in which they were dropped. */
  get dropped(): readonly string[] {
    return [...this.#dropped];
  }
}

/** Returns a copy: a slice would keep the whole name in memory as long as the request log has the record. */
function shortened(name: string): string {
  return Buffer.from(name.slice(0, MAX_NAME_CHARACTERS)).toString() + MORE;
}
