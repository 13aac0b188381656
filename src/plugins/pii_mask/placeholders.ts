// The placeholders of one request: numbered by first appearance or by value, without those that the request
// itself contains.
import { valueTable, type MaskedValues, type ValueTable } from "./masked-values.ts";
import { KEYED_DIGITS, numbersOfValues, type NumberOfValue } from "./numbers-of-values.ts";

const LESS_THAN = 0x3c;
const GREATER_THAN = 0x3e;
const UNDERSCORE = 0x5f;
/** Of a name with at most 32 characters, and a number. Numbers by first appearance have seven digits or fewer. */
const MAX_INNER_LENGTH = 32 + 1 + KEYED_DIGITS;
const ESCAPED_LESS_THAN = /\\u003c/iy;
const ESCAPED_GREATER_THAN = /\\u003e/iy;

/** The placeholders of one type. */
interface TypePlaceholders {
  readonly byValue: Map<string, string>;
  /** Of numbers by first appearance. */
  lastNumber: number;
}

export class Placeholders {
  /** Null: numbers follow the first appearance. */
  readonly #numberOf: NumberOfValue | null;
  readonly #types = new Map<string, TypePlaceholders>();
  /** By placeholder. One that the request contains has itself as its value. */
  readonly #values = new Map<string, string>();

  /** `key`: numbers are derived from the values with it. */
  constructor(key: string | null) {
    this.#numberOf = key === null ? null : numbersOfValues(key);
  }

  /** Keeps placeholders that the text contains from being used for a value. */
  reserve(text: string): void {
    for (let at = text.indexOf("<"); at >= 0; at = text.indexOf("<", at + 1)) {
      const end = placeholderEnd(text, at, false);
      if (end <= 0) continue;
      const placeholder = text.slice(at, end);
      this.#values.set(placeholder, placeholder);
    }
  }

  for(type: string, value: string): string {
    const known = this.#types.get(type) ?? this.#begin(type);
    let placeholder = known.byValue.get(value);
    if (placeholder === undefined) {
      placeholder = this.#next(type, value, known);
      known.byValue.set(value, placeholder);
      this.#values.set(placeholder, value);
    }
    return placeholder;
  }

  /**
   * Call once, at the end. Returns null if there are none. Placeholders that the request contains are needed
   * where numbers are derived from values: they may be those of values that are added later.
   */
  takeValues(): ValueTable | null {
    if (this.#numberOf === null)
      for (const [placeholder, value] of this.#values)
        if (placeholder === value) this.#values.delete(placeholder);
    return this.#values.size === 0 ? null : valueTable(this.#values);
  }

  #begin(type: string): TypePlaceholders {
    const begun = { byValue: new Map<string, string>(), lastNumber: 0 };
    this.#types.set(type, begun);
    return begun;
  }

  #next(type: string, value: string, known: TypePlaceholders): string {
    for (let attempt = 0; ; attempt++) {
      const number = this.#numberOf?.(type, value, attempt) ?? ++known.lastNumber;
      const placeholder = `<${type.toUpperCase()}_${number}>`;
      if (!this.#values.has(placeholder)) return placeholder;
    }
  }
}

/** More text may complete a placeholder. */
const INCOMPLETE = 0;
const NO_PLACEHOLDER = -1;

/** Returns the end of the placeholder at `start`, INCOMPLETE or NO_PLACEHOLDER. In JSON, brackets may be escaped. */
function placeholderEnd(text: string, start: number, isJson: boolean): number {
  let at = bracketEnd(text, start, LESS_THAN, isJson);
  if (at <= 0) return at;
  for (const from = at; at < text.length && at - from <= MAX_INNER_LENGTH; at++)
    if (!isNameUnit(text.charCodeAt(at))) return bracketEnd(text, at, GREATER_THAN, isJson);
  return at === text.length ? INCOMPLETE : NO_PLACEHOLDER;
}

function bracketEnd(text: string, at: number, bracket: number, isJson: boolean): number {
  if (text.charCodeAt(at) === bracket) return at + 1;
  if (!isJson || text.charAt(at) !== "\\") return NO_PLACEHOLDER;
  const pattern = bracket === LESS_THAN ? ESCAPED_LESS_THAN : ESCAPED_GREATER_THAN;
  pattern.lastIndex = at;
  if (pattern.test(text)) return at + 6;
  const rest = text.slice(at, at + 6).toLowerCase();
  const escaped = bracket === LESS_THAN ? "\\u003c" : "\\u003e";
  return rest.length < 6 && escaped.startsWith(rest) ? INCOMPLETE : NO_PLACEHOLDER;
}

/** An upper-case letter, a digit, or an underscore. */
function isNameUnit(unit: number): boolean {
  return (unit >= 0x41 && unit <= 0x5a) || (unit >= 0x30 && unit <= 0x39) || unit === UNDERSCORE;
}

/** What a text becomes with its values restored: the beginning that is certain, and its length before. */
export interface Restored {
  readonly text: string;
  readonly length: number;
}

/** `isComplete`: no more text follows. `isJson`: values are inserted into a JSON text, within its strings. */
export function restore(
  text: string,
  values: Pick<MaskedValues, "get">,
  isJson: boolean,
  isComplete: boolean,
): Restored {
  let restored = "";
  let from = 0;
  for (let at = nextStart(text, 0, isJson); at >= 0; at = nextStart(text, at, isJson)) {
    const end = placeholderEnd(text, at, isJson);
    if (end === INCOMPLETE && !isComplete) return { text: restored + text.slice(from, at), length: at };
    if (end <= 0) {
      // An escape sequence of two characters, such as an escaped backslash, is passed as a whole.
      at += text.charAt(at) === "\\" ? 2 : 1;
      continue;
    }
    const value = values.get(plainPlaceholder(text.slice(at, end)));
    if (value !== undefined) {
      restored += text.slice(from, at) + (isJson ? JSON.stringify(value).slice(1, -1) : value);
      from = end;
    }
    at = end;
  }
  return { text: restored + text.slice(from), length: text.length };
}

function nextStart(text: string, from: number, isJson: boolean): number {
  const bracket = text.indexOf("<", from);
  if (!isJson) return bracket;
  const backslash = text.indexOf("\\", from);
  if (backslash < 0 || bracket < 0) return Math.max(backslash, bracket);
  return Math.min(backslash, bracket);
}

function plainPlaceholder(found: string): string {
  return found.includes("\\") ? found.replace(/\\u003c/i, "<").replace(/\\u003e/i, ">") : found;
}
