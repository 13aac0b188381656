// Replaces selected strings of a JSON text while its bytes pass through, in chunks of any size. All other bytes stay as they
// are. A text that is not a JSON object or array passes unchanged.
import { utf8Between } from "./byte-search.ts";

/** What is searched in a value. Null instead of a part: nothing is replaced in the value. */
export interface JsonPart {
  /** What kind of string is replaced here; null if none is. */
  readonly kind: string | null;
  readonly keys: ReadonlyMap<string, JsonPart | null>;
  /** For all keys that `keys` does not list. */
  readonly otherKeys: JsonPart | null;
  readonly elements: JsonPart | null;
}

/** Returns the new string, or null to keep it. `start` and `end` are its place in the text, with quotes. */
export type ReplaceString = (value: string, kind: string, start: number, end: number) => string | null;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

const MAX_DEPTH = 512;
const NO_BYTES = new Uint8Array(0);

export class JsonStringSplicer {
  /** The text is nested so deeply that its rest was not searched. */
  isTooDeep = false;
  readonly #root: JsonPart;
  readonly #replace: ReplaceString;
  readonly #maxHeldBytes: number;
  /** The part of each open object or array, and whether it is an object. */
  readonly #parts: (JsonPart | null)[] = [];
  readonly #areObjects: boolean[] = [];
  /** The part of the next value. */
  #next: JsonPart | null;
  #expectsKey = false;
  /** Inside a string that stays as it is. */
  #isInString = false;
  /** The last byte of that string is the backslash of an escape sequence. */
  #isEscaped = false;
  /** The first bytes of a string whose end has not arrived, from its quote. */
  #held: Uint8Array = NO_BYTES;
  /** The position in the text of the bytes that are being processed. */
  #offset = 0;
  /** The text is no JSON or too deep: the rest passes unchanged. */
  #isOff = false;

  /** A string that is longer than `maxHeldBytes` and arrives in several chunks stays as it is. */
  constructor(root: JsonPart, replace: ReplaceString, maxHeldBytes: number) {
    this.#root = root;
    this.#replace = replace;
    this.#maxHeldBytes = maxHeldBytes;
    this.#next = root;
  }

  /** Starts with a new text. */
  reset(): void {
    this.#parts.length = 0;
    this.#areObjects.length = 0;
    this.#next = this.#root;
    this.#expectsKey = false;
    this.#isInString = false;
    this.#isEscaped = false;
    this.#held = NO_BYTES;
    this.#offset = 0;
    this.#isOff = false;
    this.isTooDeep = false;
  }

  /** Returns the bytes to pass on: the chunk itself if nothing in it is replaced or held back. */
  push(chunk: Uint8Array): Uint8Array {
    if (this.#isOff) return chunk;
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    this.#held = NO_BYTES;
    const pieces: Uint8Array[] = [];
    let passedOn = 0;
    let at = 0;
    while (at < bytes.length) {
      if (this.#isInString) {
        at = this.#skipString(bytes, at);
        continue;
      }
      at = this.#skipToString(bytes, at);
      if (at >= bytes.length || this.#isInString) continue;
      // At the quote of a key, or of a string that may be replaced.
      const end = endOfString(bytes, at + 1);
      if (end < 0 && bytes.length - at <= this.#maxHeldBytes) {
        // A copy: the reader may use the memory of the chunk again.
        this.#held = new Uint8Array(bytes.subarray(at));
        break;
      }
      if (end < 0) {
        this.#passLongString();
        at++;
        continue;
      }
      const replacement = this.#takeString(bytes, at, end);
      if (replacement !== null) {
        pieces.push(bytes.subarray(passedOn, at), replacement);
        passedOn = end;
      }
      at = end;
    }
    const passable = bytes.length - this.#held.length;
    this.#offset += passable;
    if (pieces.length === 0) return passable === bytes.length ? bytes : bytes.subarray(0, passable);
    pieces.push(bytes.subarray(passedOn, passable));
    return Buffer.concat(pieces);
  }

  /** Returns the bytes that are held back. Call it if the text ends within a string. */
  end(): Uint8Array {
    const held = this.#held;
    this.#held = NO_BYTES;
    return held;
  }

  #passLongString(): void {
    this.#isInString = true;
    if (this.#expectsKey) this.#next = this.#parts.at(-1)?.otherKeys ?? null;
    this.#expectsKey = false;
  }

  /** Returns the index after a string that stays as it is, or the end of the bytes. */
  #skipString(bytes: Uint8Array, start: number): number {
    let isEscaped = this.#isEscaped;
    for (let at = start; at < bytes.length; at++) {
      const byte = bytes[at];
      if (isEscaped) isEscaped = false;
      else if (byte === BACKSLASH) isEscaped = true;
      else if (byte === QUOTE) {
        this.#isInString = this.#isEscaped = false;
        return at + 1;
      }
    }
    this.#isEscaped = isEscaped;
    return bytes.length;
  }

  /** Returns the index of the quote of the next string that matters, or of the content of one that does not. */
  #skipToString(bytes: Uint8Array, start: number): number {
    for (let at = start; at < bytes.length; at++) {
      switch (bytes[at]) {
        case QUOTE:
          if (this.#parts.length === 0) return this.#turnOff(bytes);
          if (this.#isWanted()) return at;
          this.#isInString = true;
          return at + 1;
        case OPEN_BRACE:
        case OPEN_BRACKET:
          if (this.#parts.length === MAX_DEPTH) {
            this.isTooDeep = true;
            return this.#turnOff(bytes);
          }
          this.#open(bytes[at] === OPEN_BRACE);
          break;
        case CLOSE_BRACE:
        case CLOSE_BRACKET:
          this.#parts.pop();
          this.#areObjects.pop();
          this.#expectsKey = false;
          this.#next = null;
          break;
        case COMMA:
          this.#expectsKey = this.#areObjects.at(-1) === true;
          this.#next = this.#parts.at(-1)?.elements ?? null;
          break;
        default:
          if (this.#parts.length === 0 && !isBlank(bytes[at])) return this.#turnOff(bytes);
      }
    }
    return bytes.length;
  }

  #turnOff(bytes: Uint8Array): number {
    this.#isOff = true;
    return bytes.length;
  }

  #isWanted(): boolean {
    if (this.#expectsKey) return this.#parts.at(-1) !== null;
    return this.#next !== null && this.#next.kind !== null;
  }

  #open(isObject: boolean): void {
    const part = this.#next;
    this.#parts.push(part);
    this.#areObjects.push(isObject);
    this.#expectsKey = isObject;
    this.#next = isObject ? null : (part?.elements ?? null);
  }

  /** Returns the bytes to replace a string by; null for a key, and for a value that stays as it is. */
  #takeString(bytes: Uint8Array, start: number, end: number): Uint8Array | null {
    const value = stringBetween(bytes, start, end);
    if (this.#expectsKey) {
      const part = this.#parts.at(-1) ?? null;
      const found = part === null || value === null ? undefined : part.keys.get(value);
      this.#next = found === undefined ? (part?.otherKeys ?? null) : found;
      this.#expectsKey = false;
      return null;
    }
    const kind = this.#next?.kind ?? null;
    if (kind === null || value === null) return null;
    const replaced = this.#replace(value, kind, this.#offset + start, this.#offset + end);
    return replaced === null ? null : Buffer.from(JSON.stringify(replaced));
  }
}

/** Returns the index after the closing quote, or -1 if there is none. */
function endOfString(bytes: Uint8Array, start: number): number {
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === BACKSLASH) at++;
    else if (byte === QUOTE) return at + 1;
  }
  return -1;
}

/** Returns null if the string is not valid JSON. */
function stringBetween(bytes: Uint8Array, start: number, end: number): string | null {
  const text = utf8Between(bytes, start + 1, end - 1);
  if (!text.includes("\\")) return text;
  try {
    return String(JSON.parse(utf8Between(bytes, start, end)));
  } catch {
    return null;
  }
}

/** White space, or a byte of the byte order mark. */
function isBlank(byte: number | undefined): boolean {
  if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) return true;
  return byte === 0xef || byte === 0xbb || byte === 0xbf;
}
