// Reads in the bytes of a request what its estimate needs. The texts of plain chat messages, which are most of a usual request, are
// counted where they are. Everything else is parsed, but only the fields that matter: parsing all of a body took as long as counting it.
import { indexOfByte, utf8Between } from "../base/byte-search.ts";
import type { JsonObject } from "../base/json.ts";
import {
  endOfString,
  endOfValue,
  hasBackslash,
  isKey,
  nextItem,
  skipSpace,
  startOfValue,
} from "./json-positions.ts";
import { openTexts, readOpenText } from "./json-text-tokens.ts";
import { UNITS_PER_TOKEN } from "./text-automaton.ts";
import { unitsOfText, type ReadText } from "./text-tokens.ts";
import { ESTIMATED_FIELDS, MESSAGE_TOKENS } from "./token-estimate.ts";

const QUOTE = 0x22;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const ZERO = 0x30;
/** Numbers with as many digits are exact. */
const MAX_SHORT_DIGITS = 9;

const MESSAGES = Buffer.from("messages");
const ROLE = Buffer.from("role");
const CONTENT = Buffer.from("content");
const NAME = Buffer.from("name");
const TYPE = Buffer.from("type");
const TEXT = Buffer.from("text");
/** Anthropic's; models do not read it. */
const CACHE_CONTROL = Buffer.from("cache_control");
/** Types of parts that have nothing but a text, in the formats of OpenAI and Anthropic. */
const TEXT_TYPES = [TEXT, Buffer.from("input_text"), Buffer.from("output_text")];

/** The fields of the request that was read last. */
interface EstimatedFields {
  /** Units of the messages that are not in `others`. */
  readonly units: number;
  /** Whether the estimate depends on nothing but `units`. */
  readonly isCounted: boolean;
  /** The other fields that the estimate depends on, and the messages that are not plain texts; empty if `isCounted`. */
  readonly others: JsonObject;
  /** The values of the further fields in the order of their names; undefined if they are missing. */
  readonly further: readonly unknown[];
}

interface FieldName {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** The place in `further`; -1 if the estimate depends on the field. */
  readonly furtherAt: number;
}

const NOTHING: JsonObject = Object.freeze({});

/** One text at a time is read. */
const read: ReadText = { units: 0, end: 0 };

/** Finds the top-level fields of a request that its estimate depends on, and further ones by name. */
export class EstimatedFieldReader implements EstimatedFields {
  units = 0;
  isCounted = true;
  others: JsonObject = NOTHING;
  readonly further: unknown[];
  readonly #names: readonly FieldName[];
  /** By length, because most keys of a request are none of them. */
  readonly #namesByLength: readonly (readonly FieldName[])[];

  constructor(furtherNames: readonly string[]) {
    const names = [...ESTIMATED_FIELDS, ...furtherNames].map((name) => ({
      name,
      bytes: Buffer.from(name),
      furtherAt: ESTIMATED_FIELDS.includes(name) ? -1 : furtherNames.indexOf(name),
    }));
    this.#names = names;
    this.further = furtherNames.map(() => undefined);
    const longest = Math.max(...names.map(({ name }) => name.length));
    this.#namesByLength = Array.from({ length: longest + 1 }, (_, length) =>
      names.filter(({ name }) => name.length === length),
    );
  }

  /**
   * `bytes` must be a JSON object in UTF-8 that was validated. Returns itself, because it is called for every request: call `forget` when the
   * fields were used.
   */
  read(bytes: Uint8Array): EstimatedFields {
    openTexts(bytes);
    this.forget();
    let at = bytes[0] === OPEN_BRACE ? 0 : indexOfByte(bytes, OPEN_BRACE, 0);
    for (at = skipSpace(bytes, at + 1); bytes[at] === QUOTE; at = nextItem(bytes, at)) {
      const keyEnd = endOfString(bytes, at + 1);
      const value = startOfValue(bytes, keyEnd);
      if (bytes[value] === OPEN_BRACKET && isKey(bytes, at, keyEnd, MESSAGES)) {
        at = this.#readMessages(bytes, value);
        continue;
      }
      const name = this.#nameOf(bytes, at, keyEnd);
      at = endOfValue(bytes, value);
      if (name === null) continue;
      const parsed = parseValue(bytes, value, at);
      if (name.furtherAt === -1) this.#addOther(name.name, parsed);
      else this.further[name.furtherAt] = parsed;
    }
    return this;
  }

  /** Drops what was read: a body must not stay in memory until the next request. */
  forget(): void {
    this.units = 0;
    this.isCounted = true;
    this.others = NOTHING;
    for (let at = 0; at < this.further.length; at++) this.further[at] = undefined;
  }

  #addOther(name: string, value: unknown): void {
    this.others = { ...this.others, [name]: value };
    this.isCounted = false;
  }

  /** Returns the index after the list. */
  #readMessages(bytes: Uint8Array, start: number): number {
    let others: unknown[] | null = null;
    let units = 0;
    let at = skipSpace(bytes, start + 1);
    for (; bytes[at] !== CLOSE_BRACKET; at = nextItem(bytes, at)) {
      const end = bytes[at] === OPEN_BRACE ? readPlainMessage(bytes, at) : -1;
      if (end !== -1) {
        units += read.units + MESSAGE_TOKENS * UNITS_PER_TOKEN;
        at = end;
      } else {
        const first = at;
        at = endOfValue(bytes, at);
        (others ??= []).push(JSON.parse(utf8Between(bytes, first, at)));
      }
    }
    this.units = units;
    // The last list of messages counts.
    if (others !== null || this.others["messages"] !== undefined) this.#addOther("messages", others ?? []);
    return at + 1;
  }

  #nameOf(bytes: Uint8Array, start: number, end: number): FieldName | null {
    const names = this.#namesByLength[end - start - 2];
    if (names !== undefined) for (const each of names) if (isKey(bytes, start, end, each.bytes)) return each;
    // A key may spell a name with escapes, such as `"too\u006cs"`.
    if (!hasBackslash(bytes, start, end)) return null;
    const decoded: unknown = JSON.parse(utf8Between(bytes, start, end));
    return this.#names.find(({ name }) => name === decoded) ?? null;
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

/**
 * Counts a message that has only a role, a name, and a text or a list of texts, into `read`. Returns the index after it, or -1 if it has
 * anything else, or its text twice.
 */
function readPlainMessage(bytes: Uint8Array, start: number): number {
  let units = 0;
  let texts = 0;
  let names = 0;
  let at = skipSpace(bytes, start + 1);
  for (; bytes[at] === QUOTE; at = nextItem(bytes, at)) {
    const keyEnd = endOfString(bytes, at + 1);
    const value = startOfValue(bytes, keyEnd);
    if (bytes[value] === OPEN_BRACKET && texts === 0 && isKey(bytes, at, keyEnd, CONTENT)) {
      const end = readTextParts(bytes, value);
      if (end === -1) return -1;
      texts++;
      units += read.units;
      at = end;
      continue;
    }
    if (bytes[value] !== QUOTE) return -1;
    if (isKey(bytes, at, keyEnd, ROLE)) {
      at = endOfString(bytes, value + 1);
      continue;
    }
    if (isKey(bytes, at, keyEnd, CONTENT)) texts++;
    else if (isKey(bytes, at, keyEnd, NAME)) names++;
    else return -1;
    if (texts > 1 || names > 1) return -1;
    readText(bytes, value + 1);
    units += read.units;
    at = read.end + 1;
  }
  read.units = units;
  return at + 1;
}

/** Counts a list of parts that are texts into `read`. Returns the index after it, or -1 if there are others. */
function readTextParts(bytes: Uint8Array, start: number): number {
  let units = 0;
  let at = skipSpace(bytes, start + 1);
  for (; bytes[at] === OPEN_BRACE; at = nextItem(bytes, at)) {
    at = readTextPart(bytes, at);
    if (at === -1) return -1;
    units += read.units;
  }
  read.units = units;
  return bytes[at] === CLOSE_BRACKET ? at + 1 : -1;
}

/** Counts a part into `read`. Returns the index after it, or -1 if it has anything but a type and a text. */
function readTextPart(bytes: Uint8Array, start: number): number {
  let units = 0;
  let at = skipSpace(bytes, start + 1);
  for (; bytes[at] === QUOTE; at = nextItem(bytes, at)) {
    const keyEnd = endOfString(bytes, at + 1);
    const value = startOfValue(bytes, keyEnd);
    if (isKey(bytes, at, keyEnd, CACHE_CONTROL)) {
      at = endOfValue(bytes, value);
      continue;
    }
    if (bytes[value] !== QUOTE) return -1;
    if (isKey(bytes, at, keyEnd, TYPE)) {
      at = endOfString(bytes, value + 1);
      if (!isTextType(bytes, value, at)) return -1;
    } else if (isKey(bytes, at, keyEnd, TEXT)) {
      // The last one counts.
      readText(bytes, value + 1);
      units = read.units;
      at = read.end + 1;
    } else return -1;
  }
  read.units = units;
  return at + 1;
}

function isTextType(bytes: Uint8Array, start: number, end: number): boolean {
  for (const type of TEXT_TYPES) if (isKey(bytes, start, end, type)) return true;
  return false;
}

/** Counts the string whose content starts at `start` into `read`. */
function readText(bytes: Uint8Array, start: number): void {
  if (readOpenText(bytes, start, read)) return;
  const end = endOfString(bytes, start);
  read.units = unitsOfText(String(JSON.parse(utf8Between(bytes, start - 1, end))));
  read.end = end - 1;
}
