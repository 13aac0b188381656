// Finds the usage in a JSON answer without parsing the answer: only what follows the last "usage" is looked at.
import { isJsonObject } from "../base/json.ts";
import type { TokenCounts } from "./usage.ts";
import { walkUsage } from "./usage-scanner.ts";

const KEY = Buffer.from('"usage"');
/** An answer with so many of them is parsed after all: each one more would cost another look at what follows it. */
const MAX_CANDIDATES = 8;
const BACKSLASH = 0x5c;
const COLON = 0x3a;

// The typed array's own searches look for single bytes only.
const { indexOf, lastIndexOf, toString } = Buffer.prototype as {
  indexOf: (this: Uint8Array, needle: Uint8Array, from: number) => number;
  lastIndexOf: (this: Uint8Array, needle: Uint8Array, from: number) => number;
  toString: (this: Uint8Array, encoding: "latin1", from: number, to: number) => string;
};

/**
 * The counts in the `usage` object of the answer, or null. Only numbers are right; texts in it are not decoded.
 *
 * In valid JSON a quote without a backslash before it begins or ends a string, and a string that ended is never followed
 * by a letter: so the bytes found are a string of their own. What follows it closes an object that is opened just
 * before it if and only if it is a key of the outermost object; so `body` may even lack its beginning.
 */
export function usageInJson(body: Uint8Array): TokenCounts | null {
  let at = lastIndexOf.call(body, KEY, body.byteLength);
  for (let candidates = 0; at > 0; candidates++) {
    if (candidates === MAX_CANDIDATES) return usageOf(parse(textFrom(body, 0)));
    if (body[at - 1] !== BACKSLASH) {
      const counts = walkUsage(body, at + KEY.byteLength);
      if (counts !== null) return counts;
      const end = parse(`{${textFrom(body, at)}`);
      if (end !== null) return usageOf(end);
    }
    at = lastIndexOf.call(body, KEY, at - 1);
  }
  return null;
}

function textFrom(body: Uint8Array, from: number): string {
  return toString.call(body, "latin1", from, body.byteLength);
}

function usageOf(value: unknown): TokenCounts | null {
  const usage = isJsonObject(value) ? value["usage"] : null;
  return isJsonObject(usage) ? usage : null;
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

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}
