// Finds keys and values in the bytes of JSON that was validated, without parsing it.

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Returns whether a key is spelled as this name. `start` and `end` include the quotes. */
export function isKey(bytes: Uint8Array, start: number, end: number, name: Uint8Array): boolean {
  const { length } = name;
  if (end - start - 2 !== length) return false;
  for (let index = 0; index < length; index++) if (bytes[start + 1 + index] !== name[index]) return false;
  return true;
}

/** Returns the index after the closing quote of the string whose content starts at `start`. */
export function endOfString(bytes: Uint8Array, start: number): number {
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) return at + 1;
    if (byte === BACKSLASH) at++;
  }
  return bytes.length;
}

/** Returns the index after the value at `start`. */
export function endOfValue(bytes: Uint8Array, start: number): number {
  let depth = 0;
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfString(bytes, at + 1) - 1;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++;
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      // The end of what contains a literal or a number.
      if (depth === 0) return at;
      depth--;
    } else if (depth > 0 || (byte !== COMMA && !isSpace(byte))) continue;
    else return at;
    if (depth === 0) return at + 1;
  }
  return bytes.length;
}

/** Returns the index of the value whose key ends before `keyEnd`. */
export function startOfValue(bytes: Uint8Array, keyEnd: number): number {
  return skipSpace(bytes, skipSpace(bytes, keyEnd) + 1);
}

/** Returns the index of the next key or item after a value that ends at `end`, or of the closing byte. */
export function nextItem(bytes: Uint8Array, end: number): number {
  const at = skipSpace(bytes, end);
  return bytes[at] === COMMA ? skipSpace(bytes, at + 1) : at;
}

/** Returns the index of the first byte that is no white space. */
export function skipSpace(bytes: Uint8Array, start: number): number {
  let at = start;
  // One comparison for nearly all bytes.
  while ((bytes[at] ?? SPACE + 1) <= SPACE && isSpace(bytes[at])) at++;
  return at;
}

function isSpace(byte: number | undefined): boolean {
  return byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** Whether a key has an escape sequence. */
export function hasBackslash(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at] === BACKSLASH) return true;
  return false;
}
