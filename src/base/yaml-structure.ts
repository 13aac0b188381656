// Reads the structure of a YAML text, with the offsets of keys and values, which Bun's parser does not report. The text must be one
// that Bun's parser accepts.

export interface YamlEntry {
  readonly key: string;
  /** Of the key. */
  readonly offset: number;
  readonly value: YamlNode;
}

export type YamlNode =
  | { readonly kind: "map"; readonly offset: number; readonly entries: readonly YamlEntry[] }
  | { readonly kind: "list"; readonly offset: number; readonly items: readonly YamlNode[] }
  | { readonly kind: "scalar" | "alias"; readonly offset: number };

const MAX_DEPTH = 100;
const IDENTIFIER = /^[A-Za-z_][\w-]*$/;
/** To the end of the line, a comment, or a colon that ends a key. */
const PLAIN_KEY = /(?:[^\s:#]|:(?!\s|$)|(?<!\s)#|[ \t]+(?![#:\s]))+/y;
const PLAIN = /(?:[^\s#]|(?<!\s)#|[ \t]+(?![#\s]))+/y;
/** In a flow collection, its punctuation ends a scalar, too. */
const FLOW_PLAIN = /(?:[^\s:#,[\]{}]|:(?![\s,[\]{}]|$)|(?<!\s)#|\s+(?![#:,[\]{}\s]))+/y;

class UnknownSyntax extends Error {}

/** Returns null for syntax that is not known here, such as explicit keys (`? key`). */
export function readYamlStructure(text: string): YamlNode | null {
  try {
    return new Reader(text).document();
  } catch (error) {
    if (error instanceof UnknownSyntax) return null;
    throw error;
  }
}

/** Reads the structure. Every method starts and ends between two tokens. */
class Reader {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): YamlNode {
    if (this.#text.startsWith("\uFEFF")) this.#at = 1;
    this.#skipBlank();
    while (this.#peek() === "%") this.#skipLine();
    if (this.#isMarker()) this.#at += 3;
    const root = this.#block(-1);
    this.#skipBlank();
    if (this.#isMarker()) this.#at += 3;
    this.#skipBlank();
    if (this.#at < this.#text.length) throw new UnknownSyntax();
    return root;
  }

  #peek(): string {
    return this.#text.charAt(this.#at);
  }

  /** Returns the next character that is no space and not part of a comment. */
  #next(): string {
    this.#skipBlank();
    return this.#peek();
  }

  get #column(): number {
    return this.#at - (this.#text.lastIndexOf("\n", this.#at - 1) + 1);
  }

  /** Reads a node of a block: `indent` is the column of its parent. Nothing there is an empty scalar. */
  #block(indent: number): YamlNode {
    if (++this.#depth > MAX_DEPTH) throw new UnknownSyntax();
    const before = this.#at;
    this.#skipBlank();
    this.#skipProperties();
    const isNothing = this.#at >= this.#text.length || this.#column <= indent || this.#isMarker();
    const node: YamlNode = isNothing ? { kind: "scalar", offset: before } : this.#blockNode(indent);
    this.#depth--;
    return node;
  }

  #blockNode(indent: number): YamlNode {
    const offset = this.#at;
    const column = this.#column;
    if (this.#isIndicator("-")) return this.#blockList(column);
    if (this.#isIndicator("?")) throw new UnknownSyntax();
    const key = this.#tryKey();
    if (key === null) return this.#value(indent);
    this.#at = offset;
    return this.#blockMap(column);
  }

  #blockList(column: number): YamlNode {
    const offset = this.#at;
    const items: YamlNode[] = [];
    while (this.#column === column && this.#isIndicator("-")) {
      this.#at++;
      items.push(this.#block(column));
      this.#skipBlank();
    }
    return { kind: "list", offset, items };
  }

  #blockMap(column: number): YamlNode {
    const start = this.#at;
    const entries: YamlEntry[] = [];
    while (this.#at < this.#text.length && this.#column === column && !this.#isMarker()) {
      if (this.#isIndicator("-")) break;
      this.#skipProperties();
      const offset = this.#at;
      const key = this.#tryKey();
      if (key === null) throw new UnknownSyntax();
      entries.push({ key, offset, value: this.#valueOfKey(column) });
      this.#skipBlank();
    }
    return { kind: "map", offset: start, entries };
  }

  /** A list may have the column of the key that it belongs to. */
  #valueOfKey(column: number): YamlNode {
    const before = this.#at;
    this.#skipBlank();
    const isOnNextLine = this.#text.slice(before, this.#at).includes("\n");
    if (isOnNextLine && this.#column === column && this.#isIndicator("-")) return this.#blockList(column);
    this.#at = before;
    // An anchor or a tag may precede a block that starts in the next line.
    if (isOnNextLine || /[&!]/.test(this.#next())) return this.#block(column);
    return this.#value(column);
  }

  /** A scalar, an alias or a flow collection in a block. */
  #value(indent: number): YamlNode {
    const char = this.#peek();
    if (char === "{" || char === "[") return this.#flow();
    return this.#scalar(() => {
      if (char === "|" || char === ">") this.#skipBlockScalar(indent);
      else this.#skipPlain(indent);
    });
  }

  #flow(): YamlNode {
    return this.#withDepth(() => {
      this.#skipBlank();
      this.#skipProperties();
      if (this.#peek() === "{") return this.#flowMap();
      if (this.#peek() === "[") return this.#flowList();
      return this.#scalar(() => this.#skip(FLOW_PLAIN));
    });
  }

  #scalar(skipUnquoted: () => void): YamlNode {
    const offset = this.#at;
    const char = this.#peek();
    if (char === "*") this.#skip(/[^\s,\]}]+/y);
    else if (char === '"' || char === "'") this.#skipQuoted();
    else skipUnquoted();
    return { kind: char === "*" ? "alias" : "scalar", offset };
  }

  #flowList(): YamlNode {
    const offset = this.#at++;
    const items: YamlNode[] = [];
    while (this.#next() !== "]") {
      items.push(this.#flow());
      this.#endFlowEntry("]");
    }
    this.#at++;
    return { kind: "list", offset, items };
  }

  #flowMap(): YamlNode {
    const start = this.#at++;
    const entries: YamlEntry[] = [];
    while (this.#next() !== "}") {
      this.#skipProperties();
      const offset = this.#at;
      this.#scalar(() => this.#skip(FLOW_PLAIN));
      const key = keyOf(this.#text.slice(offset, this.#at));
      let value: YamlNode = { kind: "scalar", offset };
      if (this.#next() === ":") {
        this.#at++;
        if (!/[,}]/.test(this.#next())) value = this.#flow();
      }
      entries.push({ key, offset, value });
      this.#endFlowEntry("}");
    }
    this.#at++;
    return { kind: "map", offset: start, entries };
  }

  #endFlowEntry(end: string): void {
    if (this.#next() === ",") this.#at++;
    else if (this.#peek() !== end) throw new UnknownSyntax();
  }

  #withDepth(read: () => YamlNode): YamlNode {
    if (++this.#depth > MAX_DEPTH) throw new UnknownSyntax();
    const node = read();
    this.#depth--;
    return node;
  }

  /** Reads a key and its colon. Returns null and stays if there is none in this line. */
  #tryKey(): string | null {
    const start = this.#at;
    if (this.#peek() === '"' || this.#peek() === "'") this.#skipQuoted();
    else if (/[[{|>]/.test(this.#peek())) return null;
    else this.#skip(PLAIN_KEY);
    const raw = this.#text.slice(start, this.#at);
    this.#skip(/[ \t]*/y);
    const isKey = this.#isIndicator(":") && !raw.includes("\n") && raw !== "";
    if (!isKey) {
      this.#at = start;
      return null;
    }
    this.#at++;
    return keyOf(raw);
  }

  /** Whether this character is followed by a space or the end of the line, so that it has a meaning. */
  #isIndicator(char: string): boolean {
    return this.#peek() === char && /^(?:\s|$)/.test(this.#text.charAt(this.#at + 1));
  }

  /** `---` or `...`, which begin and end a document. */
  #isMarker(): boolean {
    return this.#column === 0 && /^(?:---|\.\.\.)(?:\s|$)/.test(this.#text.slice(this.#at, this.#at + 4));
  }

  #skip(pattern: RegExp): void {
    pattern.lastIndex = this.#at;
    this.#at += pattern.exec(this.#text)?.[0].length ?? 0;
  }

  /** Skips spaces, line ends and comments. */
  #skipBlank(): void {
    this.#skip(/\s*/y);
    // A comment starts a line or follows a space.
    while (this.#peek() === "#" && /^\s?$/.test(this.#text.slice(Math.max(0, this.#at - 1), this.#at))) {
      this.#skipLine();
      this.#skip(/\s*/y);
    }
  }

  #skipLine(): void {
    const end = this.#text.indexOf("\n", this.#at);
    this.#at = end < 0 ? this.#text.length : end + 1;
  }

  /** Skips anchors and tags. */
  #skipProperties(): void {
    while (this.#peek() === "&" || this.#peek() === "!") {
      this.#skip(/\S+/y);
      this.#skipBlank();
    }
  }

  #skipQuoted(): void {
    this.#skip(this.#peek() === '"' ? /"(?:[^"\\]|\\[^])*"/y : /'(?:[^']|'')*'/y);
  }

  /** A plain scalar continues in the lines that are indented more than its parent. */
  #skipPlain(indent: number): void {
    this.#skip(PLAIN);
    for (;;) {
      const end = this.#at;
      this.#skip(/\s*/y);
      const continues =
        this.#at < this.#text.length && this.#peek() !== "#" && this.#column > indent && !this.#isMarker();
      if (!continues || this.#at === end) {
        this.#at = end;
        return;
      }
      this.#skip(PLAIN);
    }
  }

  #skipBlockScalar(indent: number): void {
    this.#skipLine();
    while (this.#at < this.#text.length) {
      const start = this.#at;
      this.#skip(/[ \t]*/y);
      const isBlank = /^[\r\n]?$/.test(this.#peek());
      if (!isBlank && this.#column <= indent) {
        this.#at = start;
        return;
      }
      this.#skipLine();
    }
  }
}

function keyOf(raw: string): string {
  return IDENTIFIER.test(raw) ? raw : String(Bun.YAML.parse(raw));
}
