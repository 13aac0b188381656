// Charsets of texts. Code is recognized in those that have the characters of ASCII as bytes of ASCII; a server that decodes a text from another one
// reads a text that was not inspected.
import { namesOtherCharset } from "../../sdk/index.ts";

/** Its byte order is that of the byte order mark. With the name of a byte order, servers may ignore the mark. */
const UTF16_PARAMETER = /charset=(?:"utf-16"|utf-16)(?=[\s;,]|$)/gi;

/** Whether header fields name another charset, for a body with a byte order mark of UTF-16. */
export function namesOtherThanUtf16(fields: string): boolean {
  return namesOtherCharset(fields.replaceAll(UTF16_PARAMETER, "charset=utf-8"));
}

export function hasUtf8Mark(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

/** Whether these are the first bytes of UTF-16 with a byte order mark, or of UTF-32 in little-endian order. */
export function isUtf16Mark(first: number | undefined, second: number | undefined): boolean {
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
}

/** Whether a text with one character per byte starts as UTF-16 or UTF-32 does, with a byte order mark or without one. */
export function startsAsWideText(text: string): boolean {
  if (isUtf16Mark(text.charCodeAt(0), text.charCodeAt(1))) return true;
  const isZero = (at: number) => text.charCodeAt(at) === 0;
  if (text.length > 1 && isZero(0) !== isZero(1)) return true;
  // Of a character in UTF-32, the highest byte is 0, and nearly always the one below.
  return isZero(0) ? isZero(1) && (isZero(4) || text.length === 4) : isZero(2) && isZero(3);
}

/** Whether all of the bytes are valid UTF-32 in one of its byte orders. */
export function isUtf32(bytes: Uint8Array): boolean {
  return bytes.length >= 4 && (isUtf32In(bytes, 0, 1) || isUtf32In(bytes, 3, 2));
}

/** `highest`, `next`: where the bytes of a character are of which the highest code point has the values 0 and 0x10. */
function isUtf32In(bytes: Uint8Array, highest: number, next: number): boolean {
  for (let at = 0; at + 4 <= bytes.length; at += 4)
    if (bytes[at + highest] !== 0 || (bytes[at + next] ?? 0) > 0x10) return false;
  return true;
}
