// Reads a request body as text, whatever its bytes are, and writes masked text back in the same encoding. One byte that is not UTF-8
// must not switch the inspection off.
import { isMultipart, isUrlEncoded, type RequestContext } from "../../sdk/index.ts";
import { FOLDED_UNIT, UNIT_KIND } from "./char-classes.ts";
import { decodeWithEscapedBytes, encodeWithEscapedBytes } from "./escaped-bytes.ts";

/** What an inspection reads of a request body. */
export type InspectedBody = Pick<RequestContext, "body" | "bodyText" | "isJson" | "headers"> & {
  /** The bytes of the body, not a copy. */
  readonly bodyView?: Uint8Array | null;
};

/** A way in which a server may read a body that is not valid UTF-8. */
interface Encoding {
  /** Returns null if another encoding finds the same in the body. */
  readonly decode: (bytes: Uint8Array) => string | null;
  /** Returns a changed text as a body. No byte outside of the changes is lost. */
  readonly encode: (text: string) => Uint8Array;
}

/** Every byte is a character, so code in ASCII is found in any encoding that contains ASCII. */
const LATIN1: Encoding = {
  decode: (bytes) => asBuffer(bytes).toString("latin1"),
  encode: (text) => Buffer.from(text, "latin1"),
};

/** Full-width and invisible characters are recognized in UTF-8 only. */
const LENIENT_UTF8: Encoding = {
  decode: (bytes) => {
    const text = decodeWithEscapedBytes(bytes);
    return hasFolded(text) ? text : null;
  },
  encode: encodeWithEscapedBytes,
};

/** Whether UTF-8 may be UTF-16 or UTF-32 without a byte order mark: a byte of the first characters is 0. Parsers of JSON recognize it by this. */
export function mayBeWideText(text: string): boolean {
  return text.charCodeAt(0) === 0 || text.charCodeAt(1) === 0 || text.charCodeAt(2) === 0;
}

/**
 * Returns the encodings in which a body is inspected that is not valid UTF-8, or may be UTF-16 or UTF-32, one after the other. A byte order mark does not mean that a
 * server reads UTF-16: parsers of forms skip it.
 */
export function encodingsOf(bytes: Uint8Array, headers: Pick<Headers, "get">): readonly Encoding[] {
  const others = [LENIENT_UTF8, LATIN1];
  const type = headers.get("content-type");
  if (isUrlEncoded(type) || isMultipart(type)) return others;
  const [first = 0, second = 0] = bytes;
  const isLittleEndian = (first === 0xff && second === 0xfe) || (first !== 0 && second === 0);
  const isBigEndian = (first === 0xfe && second === 0xff) || (first === 0 && second !== 0);
  return isLittleEndian || isBigEndian ? [utf16(bytes, isBigEndian), ...others] : others;
}

const MAGIC_NUMBERS = [
  [0x1f, 0x8b], // gzip
  [0x28, 0xb5, 0x2f, 0xfd], // zstd
];

/** Whether the body is compressed without a Content-Encoding that says so, and therefore cannot be inspected. */
export function isUndeclaredCompression(bytes: Uint8Array): boolean {
  return MAGIC_NUMBERS.some((magic) => magic.every((byte, index) => bytes[index] === byte));
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** The byte order mark stays part of the text. A single byte at the end is kept. */
function utf16(body: Uint8Array, isBigEndian: boolean): Encoding {
  const evenLength = body.length & ~1;
  return {
    decode: (bytes) => {
      const units = Buffer.from(bytes.subarray(0, evenLength));
      return (isBigEndian ? units.swap16() : units).toString("utf16le");
    },
    encode: (text) => {
      const units = Buffer.from(text, "utf16le");
      return Buffer.concat([isBigEndian ? units.swap16() : units, body.subarray(evenLength)]);
    },
  };
}

/** Whether normalization changes a character that is not ASCII. */
function hasFolded(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code >= 0x80 && ((UNIT_KIND[code] ?? 0) & FOLDED_UNIT) !== 0) return true;
  }
  return false;
}
