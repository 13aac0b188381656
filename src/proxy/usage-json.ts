// Finds the usage in a JSON answer without parsing the answer: only the object behind the last top-level "usage" is.
import type { JsonObject } from "../base/json.ts";
import { isJsonObject } from "../base/json.ts";

const KEY = Buffer.from('"usage"');
/** An answer with so many of them is parsed after all: each one more would cost another look at what follows. */
const MAX_CANDIDATES = 8;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COLON = 0x3a;

const decoder = new TextDecoder();

/**
 * The `usage` object of the answer, or null. `body` may lack its beginning: what follows a key tells how deep it stands.
 * Where `body` is not JSON the answer is null, or whatever stands there as if it were.
 */
export function usageInJson(body: Uint8Array): JsonObject | null {
  let at = lastKey(body, body.byteLength);
  for (let candidates = 0; at >= 0; candidates++) {
    if (candidates === MAX_CANDIDATES) return usageByParsing(body);
    const span = topLevelValue(body, at);
    if (span !== null) return objectIn(body.subarray(span[0], span[1]));
    at = at === 0 ? -1 : lastKey(body, at - 1);
  }
  return null;
}

/** Whether there is a "usage" that tells something: `"usage":null` stands in every chunk of some streams. */
export function mayTellUsage(bytes: Uint8Array): boolean {
  for (let at = 0; ;) {
    at = indexOf.call(bytes, KEY, at);
    if (at < 0) return false;
    at += KEY.byteLength;
    if (bytes[at] !== COLON) return true;
    const value = bytes[at + 1] === 0x20 ? at + 2 : at + 1;
    if (bytes[value] !== 0x6e) return true;
  }
}

// The typed array's own searches look for single bytes only.
const { indexOf, lastIndexOf } = Buffer.prototype as {
  indexOf: (this: Uint8Array, needle: Uint8Array, from: number) => number;
  lastIndexOf: (this: Uint8Array, needle: Uint8Array, from: number) => number;
};

function lastKey(body: Uint8Array, from: number): number {
  return lastIndexOf.call(body, KEY, from);
}

/**
 * Start and end of the value whose key stands at `at`; null where that is no key of the outermost object.
 * In valid JSON a quote without a backslash before it begins or ends a string, and a string that ended is never
 * followed by a letter: so these bytes are a string of their own, wherever the search has come from.
 */
function topLevelValue(body: Uint8Array, at: number): readonly [number, number] | null {
  if (at === 0 || body[at - 1] === BACKSLASH) return null;
  const colon = skipBlanks(body, at + KEY.byteLength);
  if (body[colon] !== COLON) return null;
  const start = skipBlanks(body, colon + 1);
  let end = -1;
  let depth = 0;
  for (let next = start; next < body.byteLength; next++) {
    const byte = body[next];
    if (byte === QUOTE) next = endOfString(body, next);
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++;
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth--;
      if (depth === 0 && end < 0) end = next + 1;
      // The object around it is closed: it is the outermost one when nothing follows.
      if (depth < 0)
        return skipBlanks(body, next + 1) === body.byteLength ? [start, end < 0 ? next : end] : null;
    }
  }
  return null;
}

/** The index of the closing quote. */
function endOfString(body: Uint8Array, start: number): number {
  for (let at = start + 1; at < body.byteLength; at++) {
    if (body[at] === BACKSLASH) at++;
    else if (body[at] === QUOTE) return at;
  }
  return body.byteLength;
}

function skipBlanks(body: Uint8Array, from: number): number {
  let at = from;
  while (at < body.byteLength && (body[at] as number) <= 0x20) at++;
  return at;
}

function objectIn(json: Uint8Array): JsonObject | null {
  // Anything else (null, a number) may be followed by further fields here, and tells nothing anyway.
  if (json[0] !== OPEN_BRACE) return null;
  const value = parse(json);
  return isJsonObject(value) ? value : null;
}

function usageByParsing(body: Uint8Array): JsonObject | null {
  const value = parse(body);
  const usage = isJsonObject(value) ? value["usage"] : null;
  return isJsonObject(usage) ? usage : null;
}

function parse(json: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(json));
  } catch {
    return null;
  }
}
