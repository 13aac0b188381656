// Recognizes texts in UTF-16 and UTF-32, and JSON in any encoding of Unicode, by their first bytes.
import { hasByteOrderMark, indexOfBytes } from "./byte-search.ts";

/** Size of a unit in bytes, and where in it the byte of an ASCII character is. */
interface Encoding {
  readonly size: number;
  readonly low: number;
}

const UTF8: Encoding = { size: 1, low: 0 };
const UTF16: readonly Encoding[] = [
  { size: 2, low: 0 },
  { size: 2, low: 1 },
];
const UTF32: readonly Encoding[] = [
  { size: 4, low: 0 },
  { size: 4, low: 3 },
];
const ENCODINGS = [UTF8, ...UTF16, ...UTF32];
/** Of UTF-16, and of UTF-32 in big-endian order; the other order starts as UTF-16 does. */
const MARKS = ["fffe", "feff", "0000feff"].map((hex) => Buffer.from(hex, "hex"));
const SPACES = new Set(Buffer.from(" \t\r\n"));
const BRACE = 0x7b;
const BRACKET = 0x5b;
/** How an object goes on, and a list with texts: media may begin with the byte of a bracket. */
const IN_OBJECT = new Set(Buffer.from('"}'));
const IN_LIST = new Set(Buffer.from('"{[]'));
const END = -1;
const NO_ASCII = -2;
const MAX_CODE_POINT = 0x10ffff;

/** Whether the first bytes are those of UTF-32, or of UTF-16 with a mark, Latin text or JSON. */
export function isWideText(first: Uint8Array): boolean {
  if (MARKS.some((mark) => indexOfBytes(first.subarray(0, mark.length), mark, 0) === 0)) return true;
  return (
    UTF16.some((encoding) => isLatin(first, encoding) || isJsonIn(first, encoding)) ||
    UTF32.some((encoding) => isUtf32(first, encoding))
  );
}

/** Whether these are the first bytes of JSON in UTF-8, UTF-16 or UTF-32, whatever follows. */
export function startsAsJson(first: Uint8Array): boolean {
  return ENCODINGS.some((encoding) => isJsonIn(first, encoding));
}

/** Other than white space and the escape character of terminals. */
export function isControl(code: number): boolean {
  return code < 0x20 && code !== 0x09 && code !== 0x0a && code !== 0x0c && code !== 0x0d && code !== 0x1b;
}

/** Whether an object or a list begins. */
function isJsonIn(first: Uint8Array, encoding: Encoding): boolean {
  const start = afterSpace(first, encoding, encoding.size === 1 && hasByteOrderMark(first) ? 3 : 0);
  const opening = asciiAt(first, encoding, start);
  if (opening !== BRACE && opening !== BRACKET) return false;
  const next = asciiAt(first, encoding, afterSpace(first, encoding, start + encoding.size));
  return next === END || (opening === BRACE ? IN_OBJECT : IN_LIST).has(next);
}

function afterSpace(first: Uint8Array, encoding: Encoding, start: number): number {
  let at = start;
  while (SPACES.has(asciiAt(first, encoding, at))) at += encoding.size;
  return at;
}

function asciiAt(first: Uint8Array, { size, low }: Encoding, at: number): number {
  if (at + size > first.byteLength) return END;
  for (let byte = 0; byte < size; byte++) if (byte !== low && first[at + byte] !== 0) return NO_ASCII;
  return first[at + low] ?? END;
}

/** Every other byte of Latin text is 0. */
function isLatin(first: Uint8Array, { low }: Encoding): boolean {
  for (let at = 0; at + 1 < first.byteLength; at += 2)
    if (first[at + 1 - low] !== 0 || isControl(first[at + low] ?? 0)) return false;
  return first.byteLength > 1;
}

function isUtf32(first: Uint8Array, { low }: Encoding): boolean {
  const view = new DataView(first.buffer, first.byteOffset, first.byteLength);
  for (let at = 0; at + 3 < first.byteLength; at += 4) {
    const code = view.getUint32(at, low === 0);
    if (isControl(code) || code > MAX_CODE_POINT) return false;
  }
  return first.byteLength >= 8;
}
