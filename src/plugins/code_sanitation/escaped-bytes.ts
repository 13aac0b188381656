// Decodes UTF-8 of which some bytes are invalid, without losing them: such a byte becomes a lone surrogate from U+DC80 to U+DCFF, as with
// Python's error handler "surrogateescape".

const ESCAPED = 0xdc00;
const HIGH_SURROGATE = 0xd800;
/** By the length of a sequence: the smallest code point that needs it. */
const SMALLEST = [0, 0, 0x80, 0x800, 0x10000];

export function decodeWithEscapedBytes(bytes: Uint8Array): string {
  const units = new Uint16Array(bytes.length);
  let length = 0;
  for (let at = 0; at < bytes.length;) {
    const byte = bytes[at] ?? 0;
    const size = byte < 0xc0 || byte > 0xf4 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    const code = size === 1 ? -1 : codePointAt(bytes, at, size);
    if (code < 0) {
      units[length++] = byte < 0x80 ? byte : ESCAPED | byte;
      at++;
      continue;
    }
    if (code > 0xffff) units[length++] = 0xd7c0 + (code >> 10);
    units[length++] = code > 0xffff ? ESCAPED | (code & 0x3ff) : code;
    at += size;
  }
  return Buffer.from(units.buffer, 0, length * 2).toString("utf16le");
}

/** Returns the code point of a sequence of several bytes, or -1 if it is invalid. */
function codePointAt(bytes: Uint8Array, at: number, size: number): number {
  let code = (bytes[at] ?? 0) & (0x7f >> size);
  for (let index = 1; index < size; index++) {
    const byte = bytes[at + index] ?? 0;
    if ((byte & 0xc0) !== 0x80) return -1;
    code = (code << 6) | (byte & 0x3f);
  }
  const isValid = code >= (SMALLEST[size] ?? 0) && code <= 0x10ffff && (code & 0x1ff800) !== HIGH_SURROGATE;
  return isValid ? code : -1;
}

/** Returns the bytes of a text that `decodeWithEscapedBytes` returned, or of one with other ASCII characters in some places. */
export function encodeWithEscapedBytes(text: string): Uint8Array {
  const bytes = Buffer.allocUnsafe(text.length * 3);
  let length = 0;
  let done = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if ((code & 0xf800) !== HIGH_SURROGATE) continue;
    if (code < ESCAPED) {
      // The first unit of a pair.
      index++;
      continue;
    }
    length += bytes.write(text.slice(done, index), length, "utf8");
    bytes[length++] = code & 0xff;
    done = index + 1;
  }
  length += bytes.write(text.slice(done), length, "utf8");
  return bytes.subarray(0, length);
}
