// Finds the members and elements of a JSON text in bytes without creating objects. The text must be valid: `JsonScanner` finds out.
import { indexOfByte, utf8Between } from "./byte-search.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
/** Shorter strings are read byte by byte: a search costs more. */
const NEAR_BYTES = 16;

/** A value, from its first byte up to `end`, exclusive. */
export interface JsonSpan {
  readonly start: number;
  readonly end: number;
}

interface JsonMember extends JsonSpan {
  readonly key: string;
}

/** Visits the members of the object at `start`, in order, keys that occur twice included. */
export function* membersAt(bytes: Uint8Array, start: number): Generator<JsonMember, undefined> {
  let at = skipSpace(bytes, start + 1);
  while (bytes[at] === QUOTE) {
    const keyEnd = endOfString(bytes, at);
    const valueStart = skipSpace(bytes, skipSpace(bytes, keyEnd) + 1);
    const end = endOfValue(bytes, valueStart);
    yield { key: stringBetween(bytes, at, keyEnd), start: valueStart, end };
    at = skipSpace(bytes, end);
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1);
  }
}

/** Visits the elements of the array at `start`, in order. */
export function* elementsAt(bytes: Uint8Array, start: number): Generator<JsonSpan, undefined> {
  let at = skipSpace(bytes, start + 1);
  while (at < bytes.length && bytes[at] !== CLOSE_BRACKET) {
    const end = endOfValue(bytes, at);
    yield { start: at, end };
    at = skipSpace(bytes, end);
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1);
  }
}

export function isObjectAt(bytes: Uint8Array, start: number): boolean {
  return bytes[start] === OPEN_BRACE;
}

export function isArrayAt(bytes: Uint8Array, start: number): boolean {
  return bytes[start] === OPEN_BRACKET;
}

/** Returns the index of the first byte that is no white space. */
export function skipSpace(bytes: Uint8Array, start: number): number {
  let at = start;
  while ((bytes[at] ?? COMMA) <= 0x20) at++;
  return at;
}

/** Returns the string whose quotes are at `start` and before `end`. */
function stringBetween(bytes: Uint8Array, start: number, end: number): string {
  const content = utf8Between(bytes, start + 1, end - 1);
  return content.includes("\\") ? String(JSON.parse(utf8Between(bytes, start, end))) : content;
}

/** Returns the index after the value at `start`. */
function endOfValue(bytes: Uint8Array, start: number): number {
  const first = bytes[start];
  if (first === QUOTE) return endOfString(bytes, start);
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET) return endOfScalar(bytes, start);
  let depth = 0;
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfString(bytes, at) - 1;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++;
    else if ((byte === CLOSE_BRACE || byte === CLOSE_BRACKET) && --depth === 0) return at + 1;
  }
  return bytes.length;
}

/** Returns the index after the closing quote of the string at `start`. A run of backslashes is counted once, so the work is linear. */
function endOfString(bytes: Uint8Array, start: number): number {
  const near = Math.min(start + NEAR_BYTES, bytes.length);
  let at = start + 1;
  for (; at < near; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) return at + 1;
    if (byte === BACKSLASH) at++;
  }
  for (;;) {
    const quote = indexOfByte(bytes, QUOTE, at);
    if (quote < 0) return bytes.length;
    let run = quote;
    while (run > at && bytes[run - 1] === BACKSLASH) run--;
    if ((quote - run) % 2 === 0) return quote + 1;
    at = quote + 1;
  }
}

function endOfScalar(bytes: Uint8Array, start: number): number {
  let at = start;
  while (isScalarByte(bytes[at] ?? COMMA)) at++;
  return at;
}

function isScalarByte(byte: number): boolean {
  return byte > 0x20 && byte !== COMMA && byte !== CLOSE_BRACE && byte !== CLOSE_BRACKET;
}
