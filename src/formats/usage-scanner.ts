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

export class UsageScanner {
  readonly #names: readonly Uint8Array[];
  readonly #noCounters: readonly number[];

  constructor(names: readonly string[]) {
    this.#names = names.map((name) => new TextEncoder().encode(name));
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
    for (; at < byteLength; at++) {
      const byte = body[at];
      if (byte === QUOTE) {
        const start = at + 1;
        for (at = start; at < byteLength && body[at] !== QUOTE; at++) if (body[at] === BACKSLASH) return null;
        if (isInUsage && depth === 1) at = this.#readField(body, start, at, counters);
        if (at < 0) return null;
      } else if (byte === OPENING_BRACE || byte === OPENING_BRACKET) depth++;
      else if (byte === CLOSING_BRACE || byte === CLOSING_BRACKET) {
        depth--;
        isInUsage &&= depth > 0;
        // This brace closes the object that holds the key. It is the outermost one if nothing follows.
        if (depth < 0) return skipBlanks(body, at + 1) === byteLength ? counters : null;
      }
    }
    return null;
  }

  /**
   * Reads the value after the string from `start` to `end` if that string is the name of a counter. Returns the index of
   * the last byte read, or -1 to give up.
   */
  #readField(body: Uint8Array, start: number, end: number, counters: number[]): number {
    const index = this.#indexOfName(body, start, end);
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

  #indexOfName(body: Uint8Array, start: number, end: number): number {
    const names = this.#names;
    for (let index = 0; index < names.length; index++) {
      const name = names[index];
      if (name?.byteLength !== end - start) continue;
      let same = 0;
      while (same < name.byteLength && body[start + same] === name[same]) same++;
      if (same === name.byteLength) return index;
    }
    return -1;
  }
}

function skipBlanks(body: Uint8Array, from: number): number {
  let at = from;
  while ((body[at] ?? 0xff) <= SPACE) at++;
  return at;
}
