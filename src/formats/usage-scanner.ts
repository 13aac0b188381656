// Reads token counters straight from the bytes of a JSON body. This takes a third of the time that parsing takes, because it
// creates no string and no object. It gives up on unusual JSON; the caller then parses the body.

/** The value of a counter that a usage object does not have. */
export const ABSENT = -1;
/** No response has this many tokens. A larger number is an error and would corrupt every total it is added to. */
const MAX_TOKENS = 1e12;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const SPACE = 0x20;
const ZERO = 0x30;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;

/** Returns a token count, or ABSENT if the value is not a plausible one. */
export function toCount(value: unknown): number {
  const isCount = typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= MAX_TOKENS;
  return isCount ? value : ABSENT;
}

/** A name in a usage object: of a counter, or of an object that has counters. */
interface NamedField {
  readonly name: Uint8Array;
  /** The position of the counter's value in the result; -1 for an object. */
  readonly index: number;
  /** The fields of the object; null for a counter. */
  readonly fields: Fields | null;
}

/** The fields of an object by the length of their names, because most names are not searched for. */
type Fields = readonly (readonly NamedField[] | undefined)[];

export class UsageScanner {
  readonly #fields: Fields;
  readonly #noCounters: readonly number[];

  /** A counter in an object of the usage object is named `object.counter`. */
  constructor(names: readonly string[]) {
    const encoder = new TextEncoder();
    const paths = names.map((name, index) => ({ path: name.split("."), index }));
    const countersIn = (group: string | undefined): NamedField[] =>
      paths
        .filter(({ path }) => path.at(-2) === group)
        .map(({ path, index }) => ({ name: encoder.encode(path.at(-1)), index, fields: null }));
    const groups = [...new Set(paths.flatMap(({ path }) => path.slice(0, -1)))].map((group) => ({
      name: encoder.encode(group),
      index: -1,
      fields: byLength(countersIn(group)),
    }));
    this.#fields = byLength([...countersIn(undefined), ...groups]);
    this.#noCounters = names.map(() => ABSENT);
  }

  /**
   * Returns the counters in the object after the key that ends just before `from`, in the order of `names`. Returns null if
   * the key is not in the outermost object or the JSON is unusual. The key must be a complete JSON string.
   */
  scan(body: Uint8Array, from: number): readonly number[] | null {
    const { byteLength } = body;
    let at = skipBlanks(body, from);
    if (body[at] !== COLON) return null;
    at = skipBlanks(body, at + 1);
    if (body[at] !== OPENING_BRACE) return null;
    const counters = this.#noCounters.slice();
    let depth = 0;
    let isInUsage = true;
    /** The fields of the object that starts next or, inside of it, of this object; null if it has no counters. */
    let nested: Fields | null = null;
    for (; at < byteLength; at++) {
      const byte = body[at];
      if (byte === QUOTE) {
        const start = at + 1;
        for (at = start; at < byteLength && body[at] !== QUOTE; at++) if (body[at] === BACKSLASH) return null;
        if (!isInUsage || depth > 2) continue;
        const fields: Fields | null = depth === 1 ? this.#fields : nested;
        const field: NamedField | null = fields === null ? null : findKey(fields, body, start, at);
        if (depth === 1) nested = field?.fields ?? null;
        if (field === null) continue;
        if (field.fields === null) at = readCounter(body, at, field.index, counters);
        else clearCounters(field.fields, counters);
        if (at < 0) return null;
      } else if (byte === OPENING_BRACE || byte === OPENING_BRACKET) {
        // Counters are in the object directly after its name, not in objects of an array.
        if (depth === 1 && byte === OPENING_BRACKET) nested = null;
        depth++;
      } else if (byte === CLOSING_BRACE || byte === CLOSING_BRACKET) {
        depth--;
        isInUsage &&= depth > 0;
        // This brace closes the object that holds the key. It is the outermost one if nothing follows.
        if (depth < 0) return skipBlanks(body, at + 1) === byteLength ? counters : null;
      }
    }
    return null;
  }
}

function byLength(fields: readonly NamedField[]): Fields {
  const table: NamedField[][] = [];
  for (const field of fields) (table[field.name.byteLength] ??= []).push(field);
  return Array.from(table);
}

/** Returns the field that the string from `start` to `end` names; null if there is none or the string is a value. */
function findKey(fields: Fields, body: Uint8Array, start: number, end: number): NamedField | null {
  const candidates = fields[end - start];
  if (candidates === undefined) return null;
  for (let index = 0; index < candidates.length; index++) {
    const field = candidates[index];
    if (field !== undefined && isNameAt(field.name, body, start))
      return body[skipBlanks(body, end + 1)] === COLON ? field : null;
  }
  return null;
}

function isNameAt(name: Uint8Array, body: Uint8Array, start: number): boolean {
  let same = 0;
  while (same < name.byteLength && body[start + same] === name[same]) same++;
  return same === name.byteLength;
}

/** A repeated key replaces the earlier object, also if the new value is no object. */
function clearCounters(fields: Fields, counters: number[]): void {
  for (const candidates of fields) for (const { index } of candidates ?? []) counters[index] = ABSENT;
}

/** Reads the value of the key that ends at `end`. Returns the index of the last byte read, or -1 to give up. */
function readCounter(body: Uint8Array, end: number, index: number, counters: number[]): number {
  let at = skipBlanks(body, skipBlanks(body, end + 1) + 1);
  let digit = (body[at] ?? 0) - ZERO;
  let value = digit >= 0 && digit <= 9 ? 0 : ABSENT;
  while (digit >= 0 && digit <= 9) {
    value = value * 10 + digit;
    digit = (body[++at] ?? 0) - ZERO;
  }
  // A fraction or an exponent.
  if (value >= 0 && (body[at] === 0x2e || body[at] === 0x65 || body[at] === 0x45)) return -1;
  counters[index] = value > MAX_TOKENS ? ABSENT : value;
  return at - 1;
}

function skipBlanks(body: Uint8Array, from: number): number {
  let at = from;
  while ((body[at] ?? 0xff) <= SPACE) at++;
  return at;
}
