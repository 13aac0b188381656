// Finds the end of a JSON literal or number in bytes.
import { INVALID } from "./json-text.ts";

const TRUE = Buffer.from("true");
const FALSE = Buffer.from("false");
const NULL = Buffer.from("null");

/** Returns the index after the literal or number at `start`, or INVALID. */
export function endOfScalar(bytes: Uint8Array, start: number): number {
  switch (bytes[start]) {
    case 0x74:
      return hasBytesAt(bytes, start, TRUE) ? start + TRUE.length : INVALID;
    case 0x66:
      return hasBytesAt(bytes, start, FALSE) ? start + FALSE.length : INVALID;
    case 0x6e:
      return hasBytesAt(bytes, start, NULL) ? start + NULL.length : INVALID;
    default:
      return endOfNumber(bytes, start);
  }
}

/** RFC 8259, section 6: an optional minus, an integer without leading zeros, an optional fraction and exponent. */
function endOfNumber(bytes: Uint8Array, start: number): number {
  let at = bytes[start] === 0x2d ? start + 1 : start;
  if (bytes[at] === 0x30) at++;
  else if ((at = endOfDigits(bytes, at)) < 0) return INVALID;
  if (bytes[at] === 0x2e && (at = endOfDigits(bytes, at + 1)) < 0) return INVALID;
  if (bytes[at] !== 0x65 && bytes[at] !== 0x45) return at;
  const sign = bytes[at + 1];
  return endOfDigits(bytes, sign === 0x2b || sign === 0x2d ? at + 2 : at + 1);
}

/** Returns the index after at least one digit. */
function endOfDigits(bytes: Uint8Array, start: number): number {
  let at = start;
  for (let byte = bytes[at]; byte !== undefined && byte >= 0x30 && byte <= 0x39; byte = bytes[at]) at++;
  return at === start ? INVALID : at;
}

export function hasBytesAt(bytes: Uint8Array, at: number, expected: Uint8Array): boolean {
  for (let index = 0; index < expected.length; index++)
    if (bytes[at + index] !== expected[index]) return false;
  return true;
}
