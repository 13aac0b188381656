// Parses a JSON text in bytes into nodes that know their place, so that single values can be read and replaced without changing another
// byte: spacing, order, duplicate keys, and numbers that a double cannot represent stay as they are.
import { hasByteOrderMark, utf8Between } from "./byte-search.ts";
import { closingQuote } from "./json-strings.ts";

const MAX_DEPTH = 512;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

type JsonNodeType = "object" | "array" | "string" | "scalar";

/** A value: its first byte and the byte after it. Strings include their quotes. */
export class JsonNode {
  readonly type: JsonNodeType;
  readonly start: number;
  end = 0;
  /** The keys of an object, one per child; keys may occur twice. Empty otherwise. */
  readonly keys: string[];
  /** Where each key begins. */
  readonly keyStarts: number[];
  readonly children: JsonNode[];

  constructor(type: JsonNodeType, start: number) {
    this.type = type;
    this.start = start;
    this.keys = type === "object" ? [] : NO_KEYS;
    this.keyStarts = type === "object" ? [] : NO_STARTS;
    this.children = type === "object" || type === "array" ? [] : NO_NODES;
  }

  /** Returns the value of a key; of the last one if there are several, as JSON.parse does. */
  get(key: string): JsonNode | null {
    const at = this.keys.lastIndexOf(key);
    return at < 0 ? null : (this.children[at] ?? null);
  }

  /** Returns the elements of an array; none of anything else. */
  get elements(): readonly JsonNode[] {
    return this.type === "array" ? this.children : NO_NODES;
  }
}

const NO_KEYS: string[] = [];
const NO_STARTS: number[] = [];
const NO_NODES: JsonNode[] = [];

export class JsonDocument {
  readonly bytes: Uint8Array;
  readonly root: JsonNode;

  private constructor(bytes: Uint8Array, root: JsonNode) {
    this.bytes = bytes;
    this.root = root;
  }

  /** Returns null if the text is not JSON, or nested too deeply. Numbers and literals are not validated. */
  static parse(bytes: Uint8Array): JsonDocument | null {
    const root = new Parser(bytes, Infinity).parse();
    return root === null ? null : new JsonDocument(bytes, root);
  }

  /** As `parse`, but throws a SyntaxError for a text that is nested too deeply, or has more values than `maxValues`. */
  static parseBounded(bytes: Uint8Array, maxValues: number): JsonDocument | null {
    const parser = new Parser(bytes, maxValues);
    const root = parser.parse();
    if (parser.excess !== null) throw new SyntaxError(parser.excess);
    return root === null ? null : new JsonDocument(bytes, root);
  }

  /** Returns the value of a string node; null of any other, and of a string with invalid escapes. */
  text(node: JsonNode | null): string | null {
    return node === null || node.type !== "string" ? null : stringBetween(this.bytes, node.start, node.end);
  }

  /** Returns the JSON of a node as it is written. */
  source(node: JsonNode): string {
    return utf8Between(this.bytes, node.start, node.end);
  }

  /** Returns a number node's value; null of any other. */
  number(node: JsonNode | null): number | null {
    if (node === null || node.type !== "scalar") return null;
    const value = Number(this.source(node));
    return Number.isFinite(value) ? value : null;
  }
}

/** Bytes that replace those from `start` to `end`. */
export interface Splice {
  readonly start: number;
  readonly end: number;
  readonly bytes: Uint8Array;
}

/** Returns the bytes with all splices applied. They must be in order and must not overlap. */
export function applySplices(bytes: Uint8Array, splices: readonly Splice[]): Uint8Array {
  if (splices.length === 0) return bytes;
  const pieces: Uint8Array[] = [];
  let from = 0;
  for (const { start, end, bytes: replacement } of splices) {
    pieces.push(bytes.subarray(from, start), replacement);
    from = end;
  }
  pieces.push(bytes.subarray(from));
  return Buffer.concat(pieces);
}

class Parser {
  readonly #bytes: Uint8Array;
  readonly #maxValues: number;
  #at = 0;
  #depth = 0;
  #count = 0;
  /** The limit that the text exceeds; null if it exceeds none. */
  excess: string | null = null;

  constructor(bytes: Uint8Array, maxValues: number) {
    this.#bytes = bytes;
    this.#maxValues = maxValues;
  }

  parse(): JsonNode | null {
    const bytes = this.#bytes;
    // A byte order mark.
    if (hasByteOrderMark(bytes)) this.#at = 3;
    this.#skipSpace();
    const root = this.#value();
    this.#skipSpace();
    return root !== null && this.#at === bytes.length ? root : null;
  }

  #skipSpace(): void {
    const bytes = this.#bytes;
    let byte = bytes[this.#at];
    while (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) byte = bytes[++this.#at];
  }

  #value(): JsonNode | null {
    if (++this.#count > this.#maxValues)
      return this.#exceeds(`The JSON has more than ${this.#maxValues} values.`);
    switch (this.#bytes[this.#at]) {
      case undefined:
        return null;
      case QUOTE:
        return this.#string();
      case OPEN_BRACE:
        return this.#container("object", CLOSE_BRACE);
      case OPEN_BRACKET:
        return this.#container("array", CLOSE_BRACKET);
      default:
        return this.#scalar();
    }
  }

  #exceeds(limit: string): null {
    this.excess = limit;
    return null;
  }

  #string(): JsonNode | null {
    const start = this.#at;
    const quote = closingQuote(this.#bytes, start + 1);
    if (quote < 0) return null;
    const node = new JsonNode("string", start);
    this.#at = node.end = quote + 1;
    return node;
  }

  #scalar(): JsonNode | null {
    const start = this.#at;
    while (isScalarByte(this.#bytes[this.#at])) this.#at++;
    if (this.#at === start) return null;
    const node = new JsonNode("scalar", start);
    node.end = this.#at;
    return node;
  }

  #container(type: "object" | "array", close: number): JsonNode | null {
    if (++this.#depth > MAX_DEPTH)
      return this.#exceeds(`The JSON is nested more than ${MAX_DEPTH} levels deep.`);
    const node = new JsonNode(type, this.#at++);
    this.#skipSpace();
    if (this.#bytes[this.#at] !== close && !this.#children(node, close)) return null;
    node.end = ++this.#at;
    this.#depth--;
    return node;
  }

  /** Returns false if the text is not JSON. Otherwise the closing byte is next. */
  #children(node: JsonNode, close: number): boolean {
    for (;;) {
      if (node.type === "object" && !this.#key(node)) return false;
      const child = this.#value();
      if (child === null) return false;
      node.children.push(child);
      this.#skipSpace();
      const next = this.#bytes[this.#at];
      if (next === close) return true;
      if (next !== COMMA) return false;
      this.#at++;
      this.#skipSpace();
    }
  }

  #key(node: JsonNode): boolean {
    if (this.#bytes[this.#at] !== QUOTE) return false;
    const start = this.#at;
    const quote = closingQuote(this.#bytes, start + 1);
    const key = quote < 0 ? null : stringBetween(this.#bytes, start, quote + 1);
    if (key === null) return false;
    node.keys.push(key);
    node.keyStarts.push(start);
    this.#at = quote + 1;
    this.#skipSpace();
    if (this.#bytes[this.#at] !== COLON) return false;
    this.#at++;
    this.#skipSpace();
    return true;
  }
}

/** Whether the byte may be part of a number or of a literal such as `true`. */
function isScalarByte(byte: number | undefined): boolean {
  if (byte === undefined) return false;
  const isDigit = byte >= 0x30 && byte <= 0x39;
  return isDigit || byte === 0x2d || byte === 0x2b || byte === 0x2e || isLetter(byte);
}

function isLetter(byte: number): boolean {
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x7a;
}

/** Returns null if the string, from quote to quote, has invalid escapes. */
function stringBetween(bytes: Uint8Array, start: number, end: number): string | null {
  const text = utf8Between(bytes, start + 1, end - 1);
  if (!text.includes("\\")) return text;
  try {
    return String(JSON.parse(utf8Between(bytes, start, end)));
  } catch {
    return null;
  }
}
