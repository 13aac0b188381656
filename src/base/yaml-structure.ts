// Reads the structure of a YAML text, with the offsets of keys and values, which Bun's parser does not report. The text must be one
// that Bun's parser accepts.
import { YamlCursor } from "./yaml-cursor.ts";

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
class Reader extends YamlCursor {
  #depth = 0;

  document(): YamlNode {
    if (this.text.startsWith("\uFEFF")) this.at = 1;
    this.skipBlank();
    while (this.peek() === "%") this.skipLine();
    if (this.isMarker()) this.at += 3;
    const root = this.#block(-1);
    this.skipBlank();
    if (this.isMarker()) this.at += 3;
    this.skipBlank();
    if (this.at < this.text.length) throw new UnknownSyntax();
    return root;
  }

  /** Reads a node of a block: `indent` is the column of its parent. Nothing there is an empty scalar. */
  #block(indent: number): YamlNode {
    if (++this.#depth > MAX_DEPTH) throw new UnknownSyntax();
    const before = this.at;
    this.skipBlank();
    this.skipProperties();
    const isNothing = this.at >= this.text.length || this.column <= indent || this.isMarker();
    const node: YamlNode = isNothing ? { kind: "scalar", offset: before } : this.#blockNode(indent);
    this.#depth--;
    return node;
  }

  #blockNode(indent: number): YamlNode {
    const offset = this.at;
    const column = this.column;
    if (this.isIndicator("-")) return this.#blockList(column);
    if (this.isIndicator("?")) throw new UnknownSyntax();
    const key = this.#tryKey();
    if (key === null) return this.#value(indent);
    this.at = offset;
    return this.#blockMap(column);
  }

  #blockList(column: number): YamlNode {
    const offset = this.at;
    const items: YamlNode[] = [];
    while (this.column === column && this.isIndicator("-")) {
      this.at++;
      items.push(this.#block(column));
      this.skipBlank();
    }
    return { kind: "list", offset, items };
  }

  #blockMap(column: number): YamlNode {
    const start = this.at;
    const entries: YamlEntry[] = [];
    while (this.at < this.text.length && this.column === column && !this.isMarker()) {
      if (this.isIndicator("-")) break;
      this.skipProperties();
      const offset = this.at;
      const key = this.#tryKey();
      if (key === null) throw new UnknownSyntax();
      entries.push({ key, offset, value: this.#valueOfKey(column) });
      this.skipBlank();
    }
    return { kind: "map", offset: start, entries };
  }

  /** A list may have the column of the key that it belongs to. */
  #valueOfKey(column: number): YamlNode {
    const before = this.at;
    this.skipBlank();
    // Anchors and tags may precede a block that starts in the next line.
    this.skipProperties();
    const isOnNextLine = this.text.slice(before, this.at).includes("\n");
    if (!isOnNextLine) return this.#value(column);
    return this.column === column && this.isIndicator("-") ? this.#blockList(column) : this.#block(column);
  }

  /** A scalar, an alias or a flow collection in a block. */
  #value(indent: number): YamlNode {
    const char = this.peek();
    if (char === "{" || char === "[") return this.#flow();
    return this.#scalar(() => {
      if (char === "|" || char === ">") this.skipBlockScalar(indent);
      else this.skipPlain(indent);
    });
  }

  #flow(): YamlNode {
    return this.#withDepth(() => {
      this.skipBlank();
      this.skipProperties();
      if (this.peek() === "{") return this.#flowMap();
      if (this.peek() === "[") return this.#flowList();
      return this.#scalar(() => this.skip(FLOW_PLAIN));
    });
  }

  #scalar(skipUnquoted: () => void): YamlNode {
    const offset = this.at;
    const char = this.peek();
    if (char === "*") this.skip(/[^\s,\]}]+/y);
    else if (char === '"' || char === "'") this.skipQuoted();
    else skipUnquoted();
    return { kind: char === "*" ? "alias" : "scalar", offset };
  }

  #flowList(): YamlNode {
    const offset = this.at++;
    const items: YamlNode[] = [];
    while (this.next() !== "]") {
      const start = this.at;
      const item = this.#flow();
      items.push(this.next() === ":" ? this.#pair(start) : item);
      this.#endFlowEntry("]");
    }
    this.at++;
    return { kind: "list", offset, items };
  }

  #flowMap(): YamlNode {
    const start = this.at++;
    const entries: YamlEntry[] = [];
    while (this.next() !== "}") {
      entries.push(this.#flowEntry());
      this.#endFlowEntry("}");
    }
    this.at++;
    return { kind: "map", offset: start, entries };
  }

  #flowEntry(): YamlEntry {
    this.skipProperties();
    const offset = this.at;
    this.#scalar(() => this.skip(FLOW_PLAIN));
    const key = keyOf(this.text.slice(offset, this.at));
    let value: YamlNode = { kind: "scalar", offset };
    if (this.next() === ":") {
      this.at++;
      if (!/[,\]}]/.test(this.next())) value = this.#flow();
    }
    return { key, offset, value };
  }

  /** A mapping with one key and without braces, as in `[a: b]`. */
  #pair(offset: number): YamlNode {
    this.at = offset;
    return { kind: "map", offset, entries: [this.#flowEntry()] };
  }

  #endFlowEntry(end: string): void {
    if (this.next() === ",") this.at++;
    else if (this.peek() !== end) throw new UnknownSyntax();
  }

  #withDepth(read: () => YamlNode): YamlNode {
    if (++this.#depth > MAX_DEPTH) throw new UnknownSyntax();
    const node = read();
    this.#depth--;
    return node;
  }

  /** Reads a key and its colon. Returns null and stays if there is none in this line. */
  #tryKey(): string | null {
    const start = this.at;
    if (this.peek() === '"' || this.peek() === "'") this.skipQuoted();
    else if (/[[{|>]/.test(this.peek())) return null;
    else this.skip(PLAIN_KEY);
    const raw = this.text.slice(start, this.at);
    this.skip(/[ \t]*/y);
    const isKey = this.isIndicator(":") && !raw.includes("\n") && raw !== "";
    if (!isKey) {
      this.at = start;
      return null;
    }
    this.at++;
    return keyOf(raw);
  }
}

function keyOf(raw: string): string {
  if (IDENTIFIER.test(raw)) return raw;
  try {
    return String(Bun.YAML.parse(raw));
  } catch {
    // An alias as key, for example.
    throw new UnknownSyntax();
  }
}
