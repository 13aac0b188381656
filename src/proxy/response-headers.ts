// The header fields that plugins and steps set on a response before there is one.
import { fieldNameOf, type FieldName, type HeaderFields } from "../http/header-fields.ts";
import { isTokenLimit, RATE_LIMIT_PREFIX } from "./token-limit-headers.ts";

export class ResponseHeaders {
  readonly #fields: FieldName[] = [];
  readonly #values: string[] = [];
  /** The bits of all names. */
  #bits = 0;
  #mayRepeat = false;

  get names(): string[] {
    return this.#fields.map(({ spelling }) => spelling);
  }

  /** The last value of a name counts. Throws a TypeError if the name cannot be sent. */
  set(name: string, value: string): void {
    const field = fieldNameOf(name);
    if ((this.#bits & field.bit) !== 0) this.#mayRepeat = true;
    this.#bits |= field.bit;
    this.#fields.push(field);
    this.#values.push(value);
  }

  clone(): ResponseHeaders {
    const copy = new ResponseHeaders();
    for (const [at, { spelling }] of this.#fields.entries()) copy.set(spelling, this.#values[at] ?? "");
    return copy;
  }

  /**
   * Sets the fields. `tokenLimit` are lines of further ones, which fields that were set replace. Those of limits, which are most fields of a
   * response with limits, are added as one block.
   */
  addTo(headers: HeaderFields, tokenLimit: string): void {
    const fields = this.#fields;
    const hasBlock = !this.#mayRepeat || !this.#isRepeated();
    let others = 0;
    let block = tokenLimit;
    for (let at = 0; at < fields.length; at++) {
      const [field, value] = [fields[at], this.#values[at] ?? ""];
      if (field === undefined) continue;
      if (hasBlock && isInBlock(field, value)) block = `${block}${field.start}${value}\r\n`;
      else others++;
    }
    if (block !== "") headers.addBlock(RATE_LIMIT_PREFIX, block);
    for (let at = 0; others > 0 && at < fields.length; at++) {
      const [field, value] = [fields[at], this.#values[at] ?? ""];
      if (field === undefined || (hasBlock && isInBlock(field, value))) continue;
      headers.set(field.spelling, value);
      others--;
    }
  }

  /** Whether a name occurs twice. */
  #isRepeated(): boolean {
    return new Set(this.#fields.map(({ lower }) => lower)).size < this.#fields.length;
  }
}

function isInBlock({ lower }: FieldName, value: string): boolean {
  return lower.startsWith(RATE_LIMIT_PREFIX) && !isTokenLimit(lower) && isPrintableAscii(value);
}

/** A loop, because values of limits have a few characters. */
function isPrintableAscii(value: string): boolean {
  for (let index = 0; index < value.length; index++) {
    const code = value.charCodeAt(index);
    if (code < 0x20 || code > 0x7e) return false;
  }
  return true;
}
