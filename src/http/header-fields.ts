// Header fields of a request or a response. A small list of strings: native Headers objects were measured to take a tenth of
// the CPU time of a request.
import { BoundedCache } from "../base/bounded-cache.ts";
import type { ReadableFields } from "../base/readable-fields.ts";
import { LineWriter } from "./line-writer.ts";

/** Values are sent as one byte per character, so a character beyond Latin-1 could become a line break. */
const INVALID_VALUE = /[^\t\x20-\x7e\x80-\xff]/;
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** A name that can be sent. */
export interface FieldName {
  readonly lower: string;
  readonly spelling: string;
  /** The start of a line: the spelling, a colon, and a space. */
  readonly start: string;
  /** One bit. All spellings of a name have the same one, and so may other names. */
  readonly bit: number;
  /** Whether it starts with RATE_LIMIT_PREFIX. */
  readonly isRateLimit: boolean;
}

/** The start of the names of fields that report limits, in lower case. */
export const RATE_LIMIT_PREFIX = "x-ratelimit-";

/** The gateway sets few different ones. */
const knownNames = new BoundedCache<string, FieldName>(1000);
let nameCount = 0;

/** Writes lines with line ends. It may be called later, and several times. */
export interface FieldLines {
  write(writer: LineWriter): void;
}

/** Several fields as lines with line ends: a string for each, and joining them, takes several times as long. */
interface FieldBlock {
  /** The names of all fields of the block but one start with this, in lower case. */
  readonly prefix: string;
  readonly otherName: string | null;
  readonly lines: string | FieldLines;
}

/** Lines are written synchronously. */
const lineWriter = new LineWriter();

/** Fields in their order, including repeated ones. */
export class HeaderFields implements ReadableFields {
  readonly #names: string[] = [];
  /** As they are sent; null while all of them are in lower case. */
  #spellings: string[] | null = null;
  readonly #values: string[] = [];
  /** Fields that follow the others. They are added to the lists when anything but their lines is needed. */
  #block: FieldBlock | null = null;

  /** In lower case. */
  get names(): string[] {
    if (this.#block !== null) this.#expandBlock();
    return this.#names;
  }

  get values(): string[] {
    if (this.#block !== null) this.#expandBlock();
    return this.#values;
  }

  static from(fields: Headers | Readonly<Record<string, string>>): HeaderFields {
    const result = new HeaderFields();
    if (fields instanceof Headers) fields.forEach((value, name) => result.append(name, value));
    else for (const [name, value] of Object.entries(fields)) result.append(name, value);
    return result;
  }

  clone(): HeaderFields {
    const copy = new HeaderFields();
    copy.#names.push(...this.names);
    copy.#spellings = this.#spellings === null ? null : [...this.#spellings];
    copy.#values.push(...this.values);
    return copy;
  }

  /** Adds a field that is valid, with its name in lower case: it was received or is a constant. */
  add(name: string, value: string): void {
    this.#push(name, name, value);
  }

  /** As `add`, with a spelling of the name. */
  addSpelled(name: string, spelling: string, value: string): void {
    this.#push(name, spelling, value);
  }

  /**
   * Adds lines of valid fields whose names start with `prefix` or are `otherName`, each name once. They replace those with the same name,
   * and are sent last.
   */
  addBlock(prefix: string, lines: string | FieldLines, otherName: string | null = null): void {
    const { names } = this;
    const block = { prefix, otherName, lines };
    for (let index = 0; index < names.length; index++)
      if (mayHave(block, names[index] ?? "")) {
        this.#setLines(textOf(lines));
        return;
      }
    this.#block = block;
  }

  /** Returns the value of a field, joined by commas if it is repeated (RFC 9110, section 5.3), or null. */
  get(name: string): string | null {
    const names = this.#namesFor(name);
    const values = this.#values;
    let found: string | null = null;
    for (let index = 0; index < names.length; index++) {
      if (names[index] !== name) continue;
      const value = values[index] ?? "";
      found = found === null ? value : `${found}, ${value}`;
    }
    return found;
  }

  has(name: string): boolean {
    return this.#namesFor(name).includes(name);
  }

  /** Adds a field. Throws a TypeError if it cannot be sent. */
  append(name: string, value: string): void {
    const { lower } = fieldNameOf(name);
    this.#namesFor(lower);
    this.#push(lower, name, checkedValue(name, value));
  }

  /** Adds a field or replaces all with this name. Throws a TypeError if it cannot be sent. */
  set(name: string, value: string): void {
    this.setValid(fieldNameOf(name), checkedValue(name, value));
  }

  /** As `set`, for a value that is known to be valid. */
  setValid({ lower, spelling }: FieldName, value: string): void {
    const names = this.#namesFor(lower);
    const index = names.indexOf(lower);
    if (index < 0) {
      this.#push(lower, spelling, value);
      return;
    }
    if (this.#spellings !== null || spelling !== lower) this.#spelled()[index] = spelling;
    this.#values[index] = value;
    for (let last = names.lastIndexOf(lower); last > index; last = names.lastIndexOf(lower))
      this.#removeAt(last);
  }

  delete(name: string): void {
    const lower = name.toLowerCase();
    const names = this.#namesFor(lower);
    for (let index = names.indexOf(lower); index >= 0; index = names.indexOf(lower)) this.#removeAt(index);
  }

  /** Calls `visit` once per name, with the values of repeated fields joined. */
  forEach(visit: (value: string, name: string) => void): void {
    const { names } = this;
    for (let index = 0; index < names.length; index++) {
      const value = this.joinedAt(index);
      if (value !== null) visit(value, names[index] ?? "");
    }
  }

  /** Returns the values of all fields with the name at this index, joined; null if it is not the first index with this name. */
  joinedAt(index: number): string | null {
    const { names, values } = this;
    const name = names[index] ?? "";
    if (names.indexOf(name) !== index) return null;
    return names.lastIndexOf(name) === index ? (values[index] ?? "") : this.get(name);
  }

  /** One entry per name, with the values of repeated fields joined. */
  entries(): IterableIterator<[string, string]> {
    const all: [string, string][] = [];
    this.forEach((value, name) => all.push([name, value]));
    return all[Symbol.iterator]();
  }

  /** The fields as lines with line ends, as they are sent. */
  toLines(): string {
    this.writeTo(lineWriter);
    return lineWriter.finish();
  }

  /** As `toLines`: no string is created. */
  writeTo(writer: LineWriter): void {
    const values = this.#values;
    const names = this.#spellings ?? this.#names;
    for (let index = 0; index < names.length; index++) writer.field(names[index] ?? "", values[index] ?? "");
    const lines = this.#block?.lines ?? "";
    if (typeof lines === "string") writer.text(lines);
    else lines.write(writer);
  }

  /** Returns the names among which this one has to be searched for: the block stays one if it cannot have it. */
  #namesFor(lower: string): string[] {
    if (this.#block !== null && mayHave(this.#block, lower)) this.#expandBlock();
    return this.#names;
  }

  #expandBlock(): void {
    const lines = this.#block?.lines ?? "";
    this.#block = null;
    this.#setLines(textOf(lines));
  }

  #setLines(lines: string): void {
    for (const line of lines.split("\r\n")) {
      const colon = line.indexOf(": ");
      if (colon > 0) this.set(line.slice(0, colon), line.slice(colon + 2));
    }
  }

  #push(name: string, spelling: string, value: string): void {
    if (this.#spellings !== null || spelling !== name) this.#spelled().push(spelling);
    this.#names.push(name);
    this.#values.push(value);
  }

  #spelled(): string[] {
    return (this.#spellings ??= [...this.#names]);
  }

  #removeAt(index: number): void {
    this.#names.splice(index, 1);
    this.#spellings?.splice(index, 1);
    this.#values.splice(index, 1);
  }
}

function textOf(lines: string | FieldLines): string {
  if (typeof lines === "string") return lines;
  lines.write(lineWriter);
  return lineWriter.finish();
}

/** Compares a character first: most names differ in it, and every response has its fields searched several times. */
function mayHave({ prefix, otherName }: FieldBlock, lower: string): boolean {
  if (lower === otherName) return true;
  return lower.charCodeAt(2) === prefix.charCodeAt(2) && lower.startsWith(prefix);
}

/** Throws a TypeError if the name cannot be sent. */
export function fieldNameOf(name: string): FieldName {
  const found = findFieldName(name);
  if (found === null) throw new TypeError(`${JSON.stringify(name.slice(0, 100))} is no header name`);
  return found;
}

/** Returns null if the name cannot be sent. */
export function findFieldName(name: string): FieldName | null {
  const known = knownNames.get(name);
  if (known !== undefined) return known;
  if (!TOKEN.test(name)) return null;
  const lower = name.toLowerCase();
  const bit = lower === name ? 1 << (nameCount++ & 31) : fieldNameOf(lower).bit;
  const isRateLimit = lower.startsWith(RATE_LIMIT_PREFIX);
  const created = { lower, spelling: name, start: `${name}: `, bit, isRateLimit };
  knownNames.set(name, created);
  return created;
}

export function isFieldValue(value: string): boolean {
  return !INVALID_VALUE.test(value);
}

/** Returns the value. Throws if it cannot be sent. */
export function checkedValue(name: string, value: string): string {
  if (!isFieldValue(value))
    throw new TypeError(`the value of ${name} has a character that is not allowed in a header`);
  return value;
}
