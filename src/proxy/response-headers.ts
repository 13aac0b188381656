// The header fields that plugins and steps set on a response before there is one.
import { RATE_LIMIT_PREFIX, type FieldName, type HeaderFields } from "../http/header-fields.ts";
import type { TokenLimitState } from "../sdk/index.ts";
import { isTokenLimit, TOKEN_LIMIT_NAMES, tokenLimitLines, type LimitFields } from "./token-limit-headers.ts";

export class ResponseHeaders {
  readonly #fields: FieldName[] = [];
  readonly #values: string[] = [];
  /** The bits of all names. */
  #bits = 0;
  #mayRepeat = false;
  /** The lines of limits, which are most fields of a response with limits. */
  #limits = "";
  /** The indexes of the other fields. */
  readonly #others: number[] = [];

  /** Returns the names of the fields, and those of a token limit if it is reported. */
  names(hasTokenLimit: boolean): string[] {
    const names = this.#fields.map(({ spelling }) => spelling);
    return [...new Set(hasTokenLimit ? [...names, ...TOKEN_LIMIT_NAMES] : names)];
  }

  /** The last value of a name counts. */
  set(field: FieldName, value: string): void {
    if ((this.#bits & field.bit) !== 0) this.#mayRepeat = true;
    this.#bits |= field.bit;
    if (field.isRateLimit && isPrintableAscii(value) && !isTokenLimit(field.lower))
      this.#limits = `${this.#limits}${field.start}${value}\r\n`;
    else this.#others.push(this.#fields.length);
    this.#fields.push(field);
    this.#values.push(value);
  }

  /** As `set` for each of the fields. The numbers must be checked. */
  setLimit(fields: LimitFields, { limit, remaining, resetAt }: TokenLimitState): void {
    const [ofLimit, ofRemaining, ofReset] = [String(limit), String(remaining), String(resetAt)];
    if ((this.#bits & fields.bits) !== 0) this.#mayRepeat = true;
    this.#bits |= fields.bits;
    this.#limits = `${this.#limits}${fields.limit.start}${ofLimit}${fields.remainingStart}${ofRemaining}${fields.resetStart}${ofReset}\r\n`;
    this.#fields.push(fields.limit, fields.remaining, fields.reset);
    this.#values.push(ofLimit, ofRemaining, ofReset);
  }

  clone(): ResponseHeaders {
    const copy = new ResponseHeaders();
    for (const [at, field] of this.#fields.entries()) copy.set(field, this.#values[at] ?? "");
    return copy;
  }

  /** Sets the fields, and those of a token limit unless fields that were set have the same names. */
  addTo(headers: HeaderFields, tokenLimit: TokenLimitState | null, unixMs: number): void {
    const isRepeated = this.#mayRepeat && this.#isRepeated();
    const lines = tokenLimit === null ? "" : tokenLimitLines(tokenLimit, unixMs);
    const block = isRepeated ? lines : lines + this.#limits;
    if (block !== "") headers.addBlock(RATE_LIMIT_PREFIX, block);
    if (isRepeated) for (let at = 0; at < this.#fields.length; at++) this.#setField(headers, at);
    else for (const at of this.#others) this.#setField(headers, at);
  }

  #setField(headers: HeaderFields, at: number): void {
    const field = this.#fields[at];
    if (field !== undefined) headers.set(field.spelling, this.#values[at] ?? "");
  }

  /** Whether a name occurs twice. */
  #isRepeated(): boolean {
    return new Set(this.#fields.map(({ lower }) => lower)).size < this.#fields.length;
  }
}

/** A loop, because values of limits have a few characters. */
function isPrintableAscii(value: string): boolean {
  for (let index = 0; index < value.length; index++) {
    const code = value.charCodeAt(index);
    if (code < 0x20 || code > 0x7e) return false;
  }
  return true;
}
