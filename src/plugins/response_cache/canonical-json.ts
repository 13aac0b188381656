// The canonical form of a JSON text: without whitespace, with sorted keys, and with one spelling of each string and number. Works on the text,
// because JSON.parse drops all but the last of several equal keys and rounds large numbers: a provider may read them otherwise.

/** A number with at most this many digits is the same for every parser. */
const EXACT_DIGITS = 15;
const WHITESPACE = /[ \t\n\r]*/y;
const SCALAR = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

export interface TopLevel {
  /** Fields that are left out. */
  readonly ignored: ReadonlySet<string>;
  /** Fields with which the object has no canonical form, unless they are null. */
  readonly rejected: ReadonlySet<string>;
}

/** One of an object. The texts are canonical. */
interface Member {
  readonly key: string;
  readonly value: string;
}

/** Returns null if the text is no valid JSON object, or has a rejected field. The gateway has limited the depth of the text. */
export function canonicalJson(text: string, topLevel: TopLevel): string | null {
  const reader = new CanonicalReader(text);
  try {
    return reader.readAll(topLevel);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

class CanonicalReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  readAll(topLevel: TopLevel): string | null {
    this.#skip();
    if (this.#text[this.#at] !== "{") return null;
    const canonical = this.#object(topLevel);
    this.#skip();
    if (this.#at < this.#text.length) throw new SyntaxError("text after the value");
    return canonical;
  }

  #value(): string {
    switch (this.#text[this.#at]) {
      case "{":
        return this.#object(null);
      case "[":
        return this.#array();
      case '"':
        return this.#string();
      default:
        return this.#scalar();
    }
  }

  #object(topLevel: TopLevel | null): string {
    const members: Member[] = [];
    this.#at++;
    this.#skip();
    if (this.#takes("}")) return "{}";
    do {
      this.#skip();
      if (this.#text[this.#at] !== '"') throw new SyntaxError("a key is no string");
      const key = this.#string();
      this.#skip();
      if (!this.#takes(":")) throw new SyntaxError("a key without a value");
      this.#skip();
      const value = this.#value();
      if (topLevel === null || isIncluded(key, value, topLevel)) members.push({ key, value });
      this.#skip();
    } while (this.#takes(","));
    if (!this.#takes("}")) throw new SyntaxError("an object without an end");
    // Equal keys stay, all of them and in their order: which one counts depends on the reader.
    return `{${members.sort(byKey).map(textOf).join(",")}}`;
  }

  #array(): string {
    const elements: string[] = [];
    this.#at++;
    this.#skip();
    if (this.#takes("]")) return "[]";
    do {
      this.#skip();
      elements.push(this.#value());
      this.#skip();
    } while (this.#takes(","));
    if (!this.#takes("]")) throw new SyntaxError("an array without an end");
    return `[${elements.join(",")}]`;
  }

  #string(): string {
    const text = this.#text;
    const start = this.#at;
    let hasEscape = false;
    let end = text.indexOf('"', start + 1);
    for (;;) {
      if (end < 0) throw new SyntaxError("a string without an end");
      let backslashes = 0;
      while (text[end - 1 - backslashes] === "\\") backslashes++;
      if (backslashes > 0) hasEscape = true;
      if (backslashes % 2 === 0) break;
      end = text.indexOf('"', end + 1);
    }
    this.#at = end + 1;
    const raw = text.slice(start, end + 1);
    return hasEscape || raw.includes("\\") ? JSON.stringify(JSON.parse(raw)) : raw;
  }

  #scalar(): string {
    SCALAR.lastIndex = this.#at;
    const [raw] = SCALAR.exec(this.#text) ?? [];
    if (raw === undefined) throw new SyntaxError("no value");
    this.#at += raw.length;
    const isNumber = raw !== "true" && raw !== "false" && raw !== "null";
    return isNumber && raw.length <= EXACT_DIGITS ? String(Number(raw)) : raw;
  }

  #skip(): void {
    const code = this.#text.charCodeAt(this.#at);
    if (code > 0x20) return;
    WHITESPACE.lastIndex = this.#at;
    this.#at += WHITESPACE.exec(this.#text)?.[0].length ?? 0;
  }

  #takes(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }
}

/** The order of members with equal keys stays, because sort() is stable. */
function byKey(a: Member, b: Member): number {
  if (a.key === b.key) return 0;
  return a.key < b.key ? -1 : 1;
}

function textOf({ key, value }: Member): string {
  return `${key}:${value}`;
}

/** Throws for a rejected field. */
function isIncluded(key: string, value: string, { ignored, rejected }: TopLevel): boolean {
  const name: unknown = JSON.parse(key);
  if (typeof name !== "string") return true;
  if (rejected.has(name) && value !== "null") throw new SyntaxError("a rejected field");
  return !ignored.has(name);
}
