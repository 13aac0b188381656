// The members of a JSON object in which usage is reported, of an object that is too large to be kept or parsed: the bytes are read while they
// arrive, and texts, lists and deep objects are left out.
import { indexOfByte } from "../base/byte-search.ts";

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
/** Clears the bit in which `[` and `{`, and `]` and `}`, differ. */
const BRACKET_MASK = 0xdf;

const USAGE_KEYS: ReadonlySet<string> = new Set(["usage", "usageMetadata"]);
/** Usage is a member of the object or of one of its members: `response` or `message`. */
const MAX_KEPT_DEPTH = 2;
/** Longer texts are left out. Names of events and reasons of endings are shorter. */
const MAX_TEXT_LENGTH = 256;
const MAX_OUTLINE_LENGTH = 64 * 1024;
/** Bytes outside of texts, which are read one by one. More would keep other requests waiting. */
const MAX_STRUCTURE_BYTES = 4 * 1024 * 1024;

export class JsonOutline {
  #outline = "";
  #depth = 0;
  /** The depth outside of the innermost value that is left out; -1 if what is read is kept. */
  #leftOutFrom = -1;
  #isInLeftOutList = false;
  /** The depth outside of the usage object that is read; -1 outside of any. */
  #usageFrom = -1;
  #isInText = false;
  #isEscaped = false;
  #text = "";
  #textLength = 0;
  #structureBytes = 0;
  #isEnded = false;

  /** Call with the next bytes. What precedes the object is skipped. */
  push(bytes: Uint8Array): void {
    let at = 0;
    while (at < bytes.byteLength && !this.#isLost) {
      if (this.#isInText) at = this.#readText(bytes, at);
      else {
        this.#structureBytes++;
        this.#read(bytes[at++] ?? SPACE);
      }
    }
  }

  /** Returns the object as JSON without what was left out; null if it is incomplete or has too many members. */
  take(): string | null {
    return this.#isEnded && !this.#isLost ? this.#outline : null;
  }

  get #isLost(): boolean {
    return this.#outline.length > MAX_OUTLINE_LENGTH || this.#structureBytes > MAX_STRUCTURE_BYTES;
  }

  get #isKept(): boolean {
    return this.#leftOutFrom < 0;
  }

  #read(byte: number): void {
    if (this.#depth === 0 && byte !== OPEN_BRACE) return;
    if (this.#isInLeftOutList && byte > SPACE && byte !== CLOSE_BRACKET) {
      // A list with elements must not look like an empty one.
      this.#outline += "0";
      this.#isInLeftOutList = false;
    }
    if (byte === QUOTE) {
      this.#isInText = true;
      this.#text = "";
      this.#textLength = 0;
    } else if ((byte & BRACKET_MASK) === OPEN_BRACKET) this.#open(byte);
    else if ((byte & BRACKET_MASK) === CLOSE_BRACKET) this.#close(byte);
    else if (this.#isKept && byte > SPACE) this.#outline += String.fromCharCode(byte);
  }

  #open(byte: number): void {
    const outside = this.#depth++;
    if (!this.#isKept) return;
    this.#outline += String.fromCharCode(byte);
    if (this.#usageFrom >= 0) return;
    const isUsage = byte === OPEN_BRACE && outside <= MAX_KEPT_DEPTH && USAGE_KEYS.has(this.#key());
    if (isUsage) this.#usageFrom = outside;
    else if (byte === OPEN_BRACKET || outside >= MAX_KEPT_DEPTH) {
      this.#leftOutFrom = outside;
      this.#isInLeftOutList = byte === OPEN_BRACKET;
    }
  }

  /** Returns the name of the member that starts. */
  #key(): string {
    const end = this.#outline.length - 1;
    return this.#outline.charCodeAt(end - 1) === COLON ? this.#text : "";
  }

  #close(byte: number): void {
    this.#depth--;
    if (this.#depth === this.#leftOutFrom) {
      this.#leftOutFrom = -1;
      this.#isInLeftOutList = false;
    }
    if (this.#depth === this.#usageFrom) this.#usageFrom = -1;
    if (this.#isKept) this.#outline += String.fromCharCode(byte);
    this.#isEnded = this.#depth === 0;
  }

  /** Returns the index after the bytes that were read. */
  #readText(bytes: Uint8Array, from: number): number {
    const quote = indexOfByte(bytes, QUOTE, from);
    const end = quote < 0 ? bytes.byteLength : quote;
    let run = end;
    while (run > from && bytes[run - 1] === BACKSLASH) run--;
    const isOdd = (end - run) % 2 === 1;
    const isEscaped = run === from ? isOdd !== this.#isEscaped : isOdd;
    if (this.#isKept) this.#keepText(bytes, from, isEscaped ? end + 1 : end);
    this.#isEscaped = quote < 0 && isEscaped;
    if (quote < 0) return end;
    if (isEscaped) return quote + 1;
    this.#isInText = false;
    if (this.#isKept) this.#outline += this.#textLength > MAX_TEXT_LENGTH ? '""' : `"${this.#text}"`;
    return quote + 1;
  }

  #keepText(bytes: Uint8Array, from: number, to: number): void {
    this.#textLength += to - from;
    if (this.#textLength > MAX_TEXT_LENGTH) return;
    // Byte by byte: only ASCII matters.
    for (const byte of bytes.subarray(from, to)) this.#text += String.fromCharCode(byte);
  }
}
