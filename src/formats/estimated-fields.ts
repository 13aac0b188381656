// Reads in the bytes of a request what its estimate needs. The texts of plain chat messages, which are most of a usual request, are
// counted where they are. Everything else is parsed, but only the fields that matter: parsing all of a body took as long as counting it.
import { utf8Between } from "../base/byte-search.ts";
import type { JsonObject } from "../base/json.ts";
import {
  createRequestTexts,
  MESSAGES_TO_PARSE,
  TEXT_TO_DECODE,
  type RequestTexts,
} from "./estimated-fields-module.ts";
import { UNITS_PER_TOKEN } from "./text-automaton.ts";
import { unitsOfText } from "./text-tokens.ts";
import { ESTIMATED_FIELDS, MESSAGE_TOKENS } from "./token-estimate.ts";

const ZERO = 0x30;
/** Numbers with as many digits are exact. */
const MAX_SHORT_DIGITS = 9;

/** The kind, start and end of a found value. */
const FOUND_NUMBERS = 3;

const NOTHING: JsonObject = Object.freeze({});

interface FieldName {
  readonly name: string;
  /** The place in `further`; -1 if the estimate depends on the field. */
  readonly furtherAt: number;
}

/** Finds the top-level fields of a request that its estimate depends on, and further ones by name. */
export class EstimatedFieldReader {
  /** Units of the messages that are not in `others`. */
  units = 0;
  /** The other fields that the estimate depends on, and the messages that are not plain texts. */
  others: JsonObject = NOTHING;
  /** The values of the further fields in the order of their names; undefined if they are missing. */
  readonly further: unknown[];
  readonly #names: readonly FieldName[];
  /** Undefined before the first request: compiling the module takes a millisecond. Null where the runtime does not support it. */
  #texts: RequestTexts | null | undefined;

  constructor(furtherNames: readonly string[]) {
    this.further = furtherNames.map(() => undefined);
    this.#names = [...ESTIMATED_FIELDS, ...furtherNames]
      .map((name, at) => ({ name, furtherAt: Math.max(-1, at - ESTIMATED_FIELDS.length) }))
      .sort((a, b) => a.name.length - b.name.length);
  }

  /** Whether the estimate depends on nothing but `units`. */
  get isCounted(): boolean {
    return this.others === NOTHING;
  }

  /**
   * `bytes` must be a JSON object in UTF-8 that was validated. Returns false if all of it has to be parsed. Call `forget` when the fields were
   * used.
   */
  read(bytes: Uint8Array): boolean {
    if (this.#texts === undefined) this.#texts = this.#createTexts();
    const texts = this.#texts;
    if (texts === null) return false;
    const units = texts.read(bytes);
    if (units < 0) return false;
    this.units = units;
    const { found, foundCount } = texts;
    for (let at = 0; at < foundCount * FOUND_NUMBERS; at += FOUND_NUMBERS)
      this.#add(bytes, found[at] ?? 0, found[at + 1] ?? 0, found[at + 2] ?? 0);
    return true;
  }

  /** Drops what was read: a body must not stay in memory until the next request. */
  forget(): void {
    this.units = 0;
    this.others = NOTHING;
    for (let at = 0; at < this.further.length; at++) this.further[at] = undefined;
  }

  #createTexts(): RequestTexts | null {
    const names = this.#names.map(({ name }) => name);
    return createRequestTexts(names, MESSAGE_TOKENS * UNITS_PER_TOKEN);
  }

  #add(bytes: Uint8Array, kind: number, start: number, end: number): void {
    if (kind === TEXT_TO_DECODE)
      this.units += unitsOfText(String(JSON.parse(utf8Between(bytes, start, end))));
    else if (kind === MESSAGES_TO_PARSE) this.#addMessages(`[${utf8Between(bytes, start, end)}]`);
    else {
      const { name, furtherAt } = this.#names[kind - 1] ?? { name: "", furtherAt: -1 };
      const value = parseValue(bytes, start, end);
      if (furtherAt === -1) this.others = { ...this.others, [name]: value };
      else this.further[furtherAt] = value;
    }
  }

  #addMessages(json: string): void {
    const added: unknown = JSON.parse(json);
    const { messages } = this.others;
    if (Array.isArray(messages) && Array.isArray(added)) for (const each of added) messages.push(each);
    else this.others = { ...this.others, messages: added };
  }
}

/** Most of the values are short numbers, such as that of `max_tokens`: no string is created for them. */
function parseValue(bytes: Uint8Array, start: number, end: number): unknown {
  let number = 0;
  for (let at = start; at < end; at++) {
    const digit = (bytes[at] ?? 0) - ZERO;
    if (digit < 0 || digit > 9 || end - start > MAX_SHORT_DIGITS)
      return JSON.parse(utf8Between(bytes, start, end));
    number = number * 10 + digit;
  }
  return number;
}
