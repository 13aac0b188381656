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

/** The name of a counter, and the position of its value in the result. */
interface CounterName {
  readonly name: Uint8Array;
  readonly index: number;
}

/** The name of an object in the usage object, and the counters in it. */
interface CounterGroup {
  readonly name: Uint8Array;
  readonly counters: readonly CounterName[];
}

export class UsageScanner {
  readonly #topLevel: readonly CounterName[];
  readonly #groups: readonly CounterGroup[];
  readonly #noCounters: readonly number[];

  /** A counter in an object of the usage object is named `object.counter`. */
  constructor(names: readonly string[]) {
    const encoder = new TextEncoder();
    const paths = names.map((name, index) => ({ path: name.split("."), index }));
    const inGroup = (group: string | undefined) =>
      paths
        .filter(({ path }) => path.at(-2) === group)
        .map(({ path, index }) => ({ name: encoder.encode(path.at(-1)), index }));
    const groups = new Set(paths.flatMap(({ path }) => path.slice(0, -1)));
    this.#topLevel = inGroup(undefined);
    this.#groups = [...groups].map((group) => ({ name: encoder.encode(group), counters: inGroup(group) }));
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
    /** The group whose object starts next or, inside of it, the group of the counters that are read. */
    let group: CounterGroup | null = null;
    for (; at < byteLength; at++) {
      const byte = body[at];
      if (byte === QUOTE) {
        const start = at + 1;
        for (at = start; at < byteLength && body[at] !== QUOTE; at++) if (body[at] === BACKSLASH) return null;
        if (!isInUsage) continue;
        if (depth === 1) {
          group = this.#groupAt(body, start, at, counters);
          if (group === null) at = readField(body, start, at, this.#topLevel, counters);
        } else if (depth === 2 && group !== null) at = readField(body, start, at, group.counters, counters);
        if (at < 0) return null;
      } else if (byte === OPENING_BRACE || byte === OPENING_BRACKET) {
        // Only the object directly after the name of the group contains its counters.
        if (depth === 1 && byte === OPENING_BRACKET) group = null;
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

  /** Returns the group that the key from `start` to `end` names, or null. A repeated key replaces the earlier object. */
  #groupAt(body: Uint8Array, start: number, end: number, counters: number[]): CounterGroup | null {
    for (const group of this.#groups) {
      if (!isNameAt(group.name, body, start, end)) continue;
      if (body[skipBlanks(body, end + 1)] !== COLON) return null;
      for (const { index } of group.counters) counters[index] = ABSENT;
      return group;
    }
    return null;
  }
}

/**
 * Reads the value after the string from `start` to `end` if that string is the name of a counter. Returns the index of
 * the last byte read, or -1 to give up.
 */
function readField(
  body: Uint8Array,
  start: number,
  end: number,
  names: readonly CounterName[],
  counters: number[],
): number {
  const index = indexOfName(names, body, start, end);
  if (index < 0) return end;
  let at = skipBlanks(body, end + 1);
  // The string is a value that equals the name of a counter.
  if (body[at] !== COLON) return end;
  at = skipBlanks(body, at + 1);
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

function indexOfName(names: readonly CounterName[], body: Uint8Array, start: number, end: number): number {
  for (const { name, index } of names) if (isNameAt(name, body, start, end)) return index;
  return -1;
}

function isNameAt(name: Uint8Array, body: Uint8Array, start: number, end: number): boolean {
  if (name.byteLength !== end - start) return false;
  let same = 0;
  while (same < name.byteLength && body[start + same] === name[same]) same++;
  return same === name.byteLength;
}

function skipBlanks(body: Uint8Array, from: number): number {
  let at = from;
  while ((body[at] ?? 0xff) <= SPACE) at++;
  return at;
}
