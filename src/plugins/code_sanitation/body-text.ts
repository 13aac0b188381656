// Reads a request body as text, whatever its bytes are, and writes masked text back in the same encoding. One byte that is not UTF-8
// must not switch the inspection off.
import type { RequestContext } from "../../sdk/index.ts";
import { delimiterOf, splitMultipart, type MultipartPiece } from "./multipart.ts";

interface BodyText {
  /** The text in pieces: one, unless the body is multipart with files. */
  readonly pieces: readonly MultipartPiece[];
  /** Returns a changed text as a body in the encoding of the original. */
  readonly encode: (text: string) => string | Uint8Array;
}

/** What an inspection reads of a request body. */
export type InspectedBody = Pick<RequestContext, "body" | "bodyText" | "isJson" | "headers"> & {
  /** The bytes of the body, not a copy. */
  readonly bodyView?: Uint8Array | null;
};

/** Returns null if there is no body. */
export function bodyTextOf(context: InspectedBody): BodyText | null {
  const { bodyText } = context;
  if (bodyText !== null) return { pieces: [{ text: bodyText, isFile: false }], encode: (text) => text };
  const { body } = context;
  if (body === null) return null;
  const utf16 = utf16TextOf(body);
  if (utf16 !== null) return utf16;
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("latin1");
  const delimiter = delimiterOf(context.headers.get("content-type"));
  // Every byte is a character, so code in ASCII is found in any encoding that contains ASCII, and no byte is lost.
  const encode = (changed: string) => Buffer.from(changed, "latin1");
  return { pieces: delimiter === null ? [{ text, isFile: false }] : splitMultipart(text, delimiter), encode };
}

const MAGIC_NUMBERS = [
  [0x1f, 0x8b], // gzip
  [0x28, 0xb5, 0x2f, 0xfd], // zstd
];

/** Whether the body is compressed without a Content-Encoding that says so, and therefore cannot be inspected. */
export function isUndeclaredCompression(context: InspectedBody): boolean {
  if (context.bodyText !== null) return false;
  // Read last, because it copies the body.
  const { body } = context;
  return body !== null && MAGIC_NUMBERS.some((magic) => magic.every((byte, index) => body[index] === byte));
}

/** UTF-16 is recognized by its byte order mark, which stays part of the text. */
function utf16TextOf(body: Uint8Array): BodyText | null {
  const isLittleEndian = body[0] === 0xff && body[1] === 0xfe;
  if (!isLittleEndian && !(body[0] === 0xfe && body[1] === 0xff)) return null;
  const bytes = Buffer.from(body.subarray(0, body.length & ~1));
  const text = (isLittleEndian ? bytes : bytes.swap16()).toString("utf16le");
  return {
    pieces: [{ text, isFile: false }],
    encode: (changed) => {
      const encoded = Buffer.from(changed, "utf16le");
      return isLittleEndian ? encoded : encoded.swap16();
    },
  };
}
