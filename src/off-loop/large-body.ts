// When the work on a body is done in a worker thread, and for how long.
import { JsonScanner } from "../base/json-scanner.ts";

/** Below it, starting a task takes longer than the work itself, unless the body has many values. */
export const LARGE_BODY_BYTES = 256 * 1024;

/**
 * The work on a value takes up to 3 µs per plugin, however short the value is. A conversation with as many values as this has about
 * 800 kB.
 */
const MAX_VALUES = 4096;
/** A value has a character at least, and a comma or bracket. */
const MIN_DENSE_BYTES = 2 * MAX_VALUES;

/** Limit for parsing or translating one body, waiting for a thread included. */
export const LARGE_BODY_TIMEOUT_MS = 30_000;

const COMMA = 0x2c;
const AMPERSAND = 0x26;
const OPEN_BRACKET = 0x5b;
/** Clears the bit in which `[` and `{` differ. */
const BRACKET_MASK = 0xdf;

const scanner = new JsonScanner([]);
/** Of bodies that were counted: each plugin asks for the same one. */
const dense = new WeakMap<Uint8Array, boolean>();

/**
 * Whether the work on a body takes so long that it is done in a worker thread: the body has many bytes, or many values if it is JSON, or a
 * form or lines that may have JSON in them.
 */
export function isLargeBody(bytes: Uint8Array): boolean {
  if (bytes.byteLength > LARGE_BODY_BYTES) return true;
  if (bytes.byteLength <= MIN_DENSE_BYTES) return false;
  let isDense = dense.get(bytes);
  if (isDense === undefined) {
    const result = scanner.scan(bytes, MAX_VALUES);
    isDense = result === "too_dense" || (result === "invalid" && hasManySeparators(bytes));
    dense.set(bytes, isDense);
  }
  return isDense;
}

/** Separators within strings count as well, so that a text with many commas also takes a task. */
function hasManySeparators(bytes: Uint8Array): boolean {
  let separators = 0;
  for (const byte of bytes)
    if (
      (byte === COMMA || byte === AMPERSAND || (byte & BRACKET_MASK) === OPEN_BRACKET) &&
      ++separators > MAX_VALUES
    )
      return true;
  return false;
}
