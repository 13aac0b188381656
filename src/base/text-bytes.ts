// Tells text from media in files: by media type, and by their first bytes.
import { isUtf8 } from "node:buffer";
import { indexOfBytes } from "./byte-search.ts";

export const FIRST_BYTES = 512;

const PDF = Buffer.from("%PDF-");
const MEDIA = /^(?:(?:image|audio|video)\/(?!svg)|application\/pdf\b)/;
const TEXT_TYPE =
  /^text\/|[/+](?:x-)?(?:json|jsonl|jsonlines|json5|ndjson|xml|csv|yaml|toml|javascript|ecmascript|typescript|python|ruby|php|httpd-php|sh|shellscript|sql|tex|rtf)\b/;

/** Whether the file is text. `type`: its media type as the client wrote it; null if it has none. */
export function isTextFile(type: string | null, content: Uint8Array): boolean {
  const declared = (type ?? "").trim().toLowerCase();
  const first = content.subarray(0, FIRST_BYTES);
  if (first.byteLength === 0) return false;
  if (isTextType(declared)) return true;
  if (isPdf(first)) return false;
  if (isWideText(first)) return true;
  if (hasControls(first)) return false;
  return !isMediaType(declared) || startsAsUtf8(content);
}

/** `type`: in lower case. */
export function isTextType(type: string): boolean {
  return TEXT_TYPE.test(type);
}

/** Whether this is the type of images, audio, video or PDF. `type`: in lower case. */
export function isMediaType(type: string): boolean {
  return MEDIA.test(type);
}

export function isPdf(bytes: Uint8Array): boolean {
  return indexOfBytes(bytes.subarray(0, PDF.length), PDF, 0) === 0;
}

/** Whether the bytes start as UTF-16 or UTF-32 do. */
export function isWideText(bytes: Uint8Array): boolean {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) return true;
  // Without a mark: every other byte of Latin text is 0.
  return (
    bytes.byteLength > 1 &&
    (first === 0) !== (second === 0) &&
    hasTextAtEveryOther(bytes, first === 0 ? 1 : 0)
  );
}

/** The last of the first characters may be cut. */
export function startsAsUtf8(content: Uint8Array): boolean {
  if (content.byteLength <= FIRST_BYTES) return isUtf8(content);
  return [0, 1, 2, 3].some((cut) => isUtf8(content.subarray(0, FIRST_BYTES - cut)));
}

function hasTextAtEveryOther(bytes: Uint8Array, offset: number): boolean {
  for (let index = 0; index + 1 < bytes.byteLength; index += 2) {
    if (bytes[index + 1 - offset] !== 0 || isControl(bytes[index + offset] ?? 0)) return false;
  }
  return true;
}

function hasControls(bytes: Uint8Array): boolean {
  return bytes.some(isControl);
}

/** Other than white space and the escape character of terminals. */
function isControl(byte: number): boolean {
  return byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0c && byte !== 0x0d && byte !== 0x1b;
}
