// The first line and the header fields of the latest message of a connection, by position. Most lines of the next one are identical, and
// comparing a line costs less than parsing it. Not a BoundedCache: entries are found by position and replaced in place.

/** Fields of larger header sections are not cached: each string may keep the whole section in memory. */
const MAX_HEADER_LENGTH = 4096;
const MAX_FIELDS = 64;
/** A sender could otherwise make each field keep another header section in memory. */
const MAX_KEPT_LENGTH = 32 * 1024;
const CR = 0x0d;
const LF = 0x0a;

interface CachedField {
  /** The field as received, without the line end. */
  readonly line: string;
  readonly name: string;
  readonly value: string;
}

/** A parsed request line or status line. */
export interface FirstLine {
  /** As received, without the line end. */
  readonly line: string;
}

export class HeaderFieldCache<L extends FirstLine = FirstLine> {
  #firstLine: L | null = null;
  readonly #fields: CachedField[] = [];
  /** The header section that the latest field was stored from. */
  #section = "";
  /** The length of all header sections that the fields may keep in memory. */
  keptLength = 0;

  /** Returns the cached first line if the header section `text` starts with it, else null. */
  matchFirst(text: string): L | null {
    const first = this.#firstLine;
    return first !== null && isLineAt(text, 0, first.line) ? first : null;
  }

  /** Stores a valid first line, which is the start of `text`. */
  storeFirst(text: string, first: L): void {
    if (text.length <= MAX_HEADER_LENGTH) this.#firstLine = first;
  }

  /** Returns the cached field at this position if it is the line that starts at `start`, else null. */
  match(position: number, text: string, start: number): CachedField | null {
    const field = this.#fields[position];
    return field !== undefined && isLineAt(text, start, field.line) ? field : null;
  }

  /** Stores a valid field, which is `text` from `start` to `end`. */
  store(position: number, text: string, start: number, end: number, name: string, value: string): void {
    // Positions are filled in order.
    if (text.length > MAX_HEADER_LENGTH || position > this.#fields.length || position >= MAX_FIELDS) return;
    if (text !== this.#section) this.#beginSection(text);
    if (position > this.#fields.length) return;
    this.#fields[position] = { line: text.slice(start, end), name, value };
  }

  #beginSection(text: string): void {
    this.#section = text;
    this.keptLength += text.length;
    if (this.keptLength <= MAX_KEPT_LENGTH) return;
    this.keptLength = text.length;
    this.#fields.length = 0;
  }
}

function isLineAt(text: string, start: number, line: string): boolean {
  if (!text.startsWith(line, start)) return false;
  const end = start + line.length;
  return end === text.length || (text.charCodeAt(end) === CR && text.charCodeAt(end + 1) === LF);
}
