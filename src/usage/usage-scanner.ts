// Reads the counts of an answer's usage straight from its bytes, without a string or an object in between, which costs
// a third of parsing them. Where anything is unusual it says so, and whoever asked parses.
import { COUNTS, type TokenCounts } from "./usage.ts";

const NAMES = COUNTS.map((name) => new TextEncoder().encode(name));
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const BLANK = 0x20;
const ZERO = 0x30;

/** What the walk has found, by the index of its name; -1 for none. Nobody else runs between writing and reading it. */
const found = new Float64Array(COUNTS.length);

/**
 * The counts in the object behind the key that ends just before `from`, where that is a key of the outermost object;
 * null where it is not, or is written in an unusual way. The key must be a string of its own.
 */
export function walkUsage(body: Uint8Array, from: number): TokenCounts | null {
  const { byteLength } = body;
  let at = skipBlanks(body, from);
  if (body[at] !== COLON) return null;
  at = skipBlanks(body, at + 1);
  if (body[at] !== 0x7b) return null;
  found.fill(-1);
  let depth = 0;
  let isInUsage = true;
  for (; at < byteLength; at++) {
    const byte = body[at];
    if (byte === QUOTE) {
      const start = at + 1;
      for (at = start; at < byteLength && body[at] !== QUOTE; at++) if (body[at] === BACKSLASH) return null;
      if (isInUsage && depth === 1) at = readField(body, start, at);
      if (at < 0) return null;
    } else if (byte === 0x7b || byte === 0x5b) depth++;
    else if (byte === 0x7d || byte === 0x5d) {
      depth--;
      isInUsage &&= depth > 0;
      // The object around it is closed: it is the outermost one when nothing follows.
      if (depth < 0) return skipBlanks(body, at + 1) === byteLength ? counts() : null;
    }
  }
  return null;
}

/** Takes the count behind the string from `start` to `end`, where that is the name of one. Where to go on; -1: give up. */
function readField(body: Uint8Array, start: number, end: number): number {
  const index = nameAt(body, start, end);
  if (index < 0) return end;
  let at = skipBlanks(body, end + 1);
  // A text that happens to be such a name.
  if (body[at] !== COLON) return end;
  at = skipBlanks(body, at + 1);
  let digit = (body[at] ?? 0) - ZERO;
  let value = digit >= 0 && digit <= 9 ? 0 : -1;
  while (digit >= 0 && digit <= 9) {
    value = value * 10 + digit;
    digit = (body[++at] ?? 0) - ZERO;
  }
  // A fraction or an exponent.
  if (value >= 0 && (body[at] === 0x2e || body[at] === 0x65 || body[at] === 0x45)) return -1;
  found[index] = value;
  return at - 1;
}

function nameAt(body: Uint8Array, start: number, end: number): number {
  for (let index = 0; index < NAMES.length; index++) {
    const name = NAMES[index] as Uint8Array;
    if (name.byteLength !== end - start) continue;
    let same = 0;
    while (same < name.byteLength && body[start + same] === name[same]) same++;
    if (same === name.byteLength) return index;
  }
  return -1;
}

function skipBlanks(body: Uint8Array, from: number): number {
  let at = from;
  while ((body[at] ?? 0xff) <= BLANK) at++;
  return at;
}

function counts(): TokenCounts {
  return {
    prompt_tokens: found[0],
    completion_tokens: found[1],
    total_tokens: found[2],
    input_tokens: found[3],
    output_tokens: found[4],
    cache_read_input_tokens: found[5],
    cache_creation_input_tokens: found[6],
  };
}
