// Reads the characters of a pattern in order.

export class PatternReader {
  readonly #characters: readonly string[];
  #at = 0;

  constructor(source: string) {
    this.#characters = Array.from(source);
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#characters.length;
  }

  /** Returns the next character, or one after it; empty at the end. */
  peek(after = 0): string {
    return this.#characters[this.#at + after] ?? "";
  }

  take(): string {
    return this.#characters[this.#at++] ?? "";
  }

  /** Returns the parts of a match at this place, and continues after it; none if there is none. */
  match(pattern: RegExp): readonly (string | undefined)[] {
    const found = pattern.exec(this.#characters.slice(this.#at).join("")) ?? [];
    this.#at += Array.from(found[0] ?? "").length;
    return found;
  }

  /** Reads a hexadecimal number, the first group of the pattern. */
  hex(pattern: RegExp, problem: string): number {
    const [, digits] = this.match(pattern);
    if (digits === undefined) throw this.error(problem);
    return Number.parseInt(digits, 16);
  }

  error(problem: string): Error {
    return new Error(`${problem} (at character ${Math.min(this.#at, this.#characters.length)})`);
  }
}
