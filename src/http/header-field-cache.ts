// The header fields of a provider's latest response, by position. Most fields of the next response are identical, and
// comparing a field costs less than parsing it. Not a BoundedCache: entries are found by position and replaced in place.

/** Fields of larger header sections are not cached: each string may keep the whole section in memory. */
const MAX_HEADER_LENGTH = 4096;
const MAX_FIELDS = 64;
const CR = 0x0d;
const LF = 0x0a;

interface CachedField {
  /** The field as received, without the line end. */
  readonly line: string;
  readonly name: string;
  readonly value: string;
}

export class HeaderFieldCache {
  readonly #fields: CachedField[] = [];

  /** Returns the cached field at this position if it is the line that starts at `start`, else null. */
  match(position: number, text: string, start: number): CachedField | null {
    const field = this.#fields[position];
    if (field === undefined || !text.startsWith(field.line, start)) return null;
    const end = start + field.line.length;
    if (end === text.length) return field;
    return text.charCodeAt(end) === CR && text.charCodeAt(end + 1) === LF ? field : null;
  }

  /** Stores a valid field, which is `text` from `start` to `end`. */
  store(position: number, text: string, start: number, end: number, name: string, value: string): void {
    // Positions are filled in order.
    if (text.length > MAX_HEADER_LENGTH || position > this.#fields.length || position >= MAX_FIELDS) return;
    this.#fields[position] = { line: text.slice(start, end), name, value };
  }
}
