// A position in a YAML text that moves over its tokens: blanks and comments, scalars in all their styles, anchors and tags.

const PLAIN = /(?:[^\s#]|(?<!\s)#|[ \t]+(?![#\s]))+/y;

export class YamlCursor {
  readonly text: string;
  at = 0;

  constructor(text: string) {
    this.text = text;
  }

  peek(): string {
    return this.text.charAt(this.at);
  }

  /** Returns the next character that is no space and not part of a comment. */
  next(): string {
    this.skipBlank();
    return this.peek();
  }

  get column(): number {
    return this.at - (this.text.lastIndexOf("\n", this.at - 1) + 1);
  }

  /** Whether this character is followed by a space or the end of the line, so that it has a meaning. */
  isIndicator(char: string): boolean {
    return this.peek() === char && /^(?:\s|$)/.test(this.text.charAt(this.at + 1));
  }

  /** `---` or `...`, which begin and end a document. */
  isMarker(): boolean {
    return this.column === 0 && /^(?:---|\.\.\.)(?:\s|$)/.test(this.text.slice(this.at, this.at + 4));
  }

  skip(pattern: RegExp): void {
    pattern.lastIndex = this.at;
    this.at += pattern.exec(this.text)?.[0].length ?? 0;
  }

  /** Skips spaces, line ends and comments. */
  skipBlank(): void {
    this.skip(/\s*/y);
    // A comment starts a line or follows a space.
    while (this.peek() === "#" && /^\s?$/.test(this.text.slice(Math.max(0, this.at - 1), this.at))) {
      this.skipLine();
      this.skip(/\s*/y);
    }
  }

  skipLine(): void {
    const end = this.text.indexOf("\n", this.at);
    this.at = end < 0 ? this.text.length : end + 1;
  }

  /** Skips anchors and tags. */
  skipProperties(): void {
    while (this.peek() === "&" || this.peek() === "!") {
      this.skip(/\S+/y);
      this.skipBlank();
    }
  }

  skipQuoted(): void {
    this.skip(this.peek() === '"' ? /"(?:[^"\\]|\\[^])*"/y : /'(?:[^']|'')*'/y);
  }

  /** A plain scalar continues in the lines that are indented more than its parent. */
  skipPlain(indent: number): void {
    this.skip(PLAIN);
    for (;;) {
      const end = this.at;
      this.skip(/\s*/y);
      const continues =
        this.at < this.text.length && this.peek() !== "#" && this.column > indent && !this.isMarker();
      if (!continues || this.at === end) {
        this.at = end;
        return;
      }
      this.skip(PLAIN);
    }
  }

  skipBlockScalar(indent: number): void {
    this.skipLine();
    while (this.at < this.text.length) {
      const start = this.at;
      this.skip(/[ \t]*/y);
      const isBlank = /^[\r\n]?$/.test(this.peek());
      if (!isBlank && this.column <= indent) {
        this.at = start;
        return;
      }
      this.skipLine();
    }
  }
}
