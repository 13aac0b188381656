// Header fields of a request or a response. A small list of strings: native Headers objects were measured to take a tenth of
// the CPU time of a request.
import { BoundedCache } from "../base/bounded-cache.ts";
import type { ReadableFields } from "../base/readable-fields.ts";

/** Values are sent as one byte per character, so a character beyond Latin-1 could become a line break. */
const INVALID_VALUE = /[^\t\x20-\x7e\x80-\xff]/;
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** The names in lower case of fields that were set: the gateway sets few different ones. */
const lowerCaseNames = new BoundedCache<string, string>(1000);

/** Fields in their order, including repeated ones. */
export class HeaderFields implements ReadableFields {
  /** In lower case. */
  readonly names: string[] = [];
  /** As they are sent. */
  readonly #spellings: string[] = [];
  readonly values: string[] = [];

  static from(fields: Headers | Readonly<Record<string, string>>): HeaderFields {
    const result = new HeaderFields();
    if (fields instanceof Headers) fields.forEach((value, name) => result.append(name, value));
    else for (const [name, value] of Object.entries(fields)) result.append(name, value);
    return result;
  }

  clone(): HeaderFields {
    const copy = new HeaderFields();
    copy.names.push(...this.names);
    copy.#spellings.push(...this.#spellings);
    copy.values.push(...this.values);
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

  /** Returns the value of a field, joined by commas if it is repeated (RFC 9110, section 5.3), or null. */
  get(name: string): string | null {
    const { names, values } = this;
    let found: string | null = null;
    for (let index = 0; index < names.length; index++) {
      if (names[index] !== name) continue;
      const value = values[index] ?? "";
      found = found === null ? value : `${found}, ${value}`;
    }
    return found;
  }

  has(name: string): boolean {
    return this.names.includes(name);
  }

  /** Adds a field. Throws a TypeError if it cannot be sent. */
  append(name: string, value: string): void {
    this.#push(checkedName(name), name, checkedValue(name, value));
  }

  /** Adds a field or replaces all with this name. Throws a TypeError if it cannot be sent. */
  set(name: string, value: string): void {
    const lower = checkedName(name);
    const index = this.names.indexOf(lower);
    if (index < 0) {
      this.#push(lower, name, checkedValue(name, value));
      return;
    }
    this.#spellings[index] = name;
    this.values[index] = checkedValue(name, value);
    for (let last = this.names.lastIndexOf(lower); last > index; last = this.names.lastIndexOf(lower))
      this.#removeAt(last);
  }

  delete(name: string): void {
    const lower = name.toLowerCase();
    for (let index = this.names.indexOf(lower); index >= 0; index = this.names.indexOf(lower))
      this.#removeAt(index);
  }

  /** Calls `visit` once per name, with the values of repeated fields joined. */
  forEach(visit: (value: string, name: string) => void): void {
    const { names, values } = this;
    for (let index = 0; index < names.length; index++) {
      const name = names[index] ?? "";
      if (names.indexOf(name) !== index) continue;
      const isRepeated = names.lastIndexOf(name) !== index;
      visit(isRepeated ? (this.get(name) ?? "") : (values[index] ?? ""), name);
    }
  }

  /** One entry per name, with the values of repeated fields joined. */
  entries(): IterableIterator<[string, string]> {
    const all: [string, string][] = [];
    this.forEach((value, name) => all.push([name, value]));
    return all[Symbol.iterator]();
  }

  /** The fields as lines with line ends, as they are sent. */
  toLines(): string {
    const { values } = this;
    const names = this.#spellings;
    let text = "";
    for (let index = 0; index < names.length; index++)
      text += `${names[index] ?? ""}: ${values[index] ?? ""}\r\n`;
    return text;
  }

  #push(name: string, spelling: string, value: string): void {
    this.names.push(name);
    this.#spellings.push(spelling);
    this.values.push(value);
  }

  #removeAt(index: number): void {
    this.names.splice(index, 1);
    this.#spellings.splice(index, 1);
    this.values.splice(index, 1);
  }
}

function checkedName(name: string): string {
  const known = lowerCaseNames.get(name);
  if (known !== undefined) return known;
  if (!TOKEN.test(name)) throw new TypeError(`${JSON.stringify(name.slice(0, 100))} is no header name`);
  const lower = name.toLowerCase();
  lowerCaseNames.set(name, lower);
  return lower;
}

function checkedValue(name: string, value: string): string {
  if (INVALID_VALUE.test(value))
    throw new TypeError(`the value of ${name} has a character that is not allowed in a header`);
  return value;
}
