// Patterns of tool names, in which `*` matches any number of characters. A name is matched in time linear in its length for
// each pattern, whatever the pattern: names are chosen by MCP servers and clients.

export class ToolPatterns {
  readonly #sources: readonly string[];
  readonly #names = new Set<string>();
  readonly #patterns: (readonly string[])[] = [];
  readonly #matchesAll: boolean;

  constructor(patterns: readonly string[]) {
    this.#sources = patterns;
    for (const pattern of patterns)
      if (pattern.includes("*")) this.#patterns.push(pattern.split("*"));
      else this.#names.add(pattern);
    this.#matchesAll = patterns.includes("*");
  }

  /** Whether both were made from equal lists of patterns. */
  equals(other: ToolPatterns): boolean {
    return JSON.stringify(this.#sources) === JSON.stringify(other.#sources);
  }

  /** Whether a name that begins with `start` may match. */
  mayMatch(start: string): boolean {
    if (this.#matchesAll) return true;
    for (const name of this.#names) if (name.startsWith(start)) return true;
    return this.#patterns.some(([first = ""]) => first.startsWith(start) || start.startsWith(first));
  }

  /** Whether one pattern matches every name that begins with `start`. */
  matchesAllFrom(start: string): boolean {
    return this.#patterns.some((parts) => parts.at(-1) === "" && matchesParts(parts, start));
  }

  matches(name: string): boolean {
    return (
      this.#matchesAll || this.#names.has(name) || this.#patterns.some((parts) => matchesParts(parts, name))
    );
  }
}

/** `parts` are the texts between the `*`: the name has the first at its start, the last at its end, and the others in order between. */
function matchesParts(parts: readonly string[], name: string): boolean {
  const first = parts[0] ?? "";
  const last = parts.at(-1) ?? "";
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last))
    return false;
  const end = name.length - last.length;
  let from = first.length;
  for (let index = 1; index < parts.length - 1; index++) {
    const part = parts[index] ?? "";
    const found = name.indexOf(part, from);
    if (found < 0 || found + part.length > end) return false;
    from = found + part.length;
  }
  return true;
}
