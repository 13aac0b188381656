// Tells text from media in files: by media type, and by their first bytes.
import { isUtf8 } from "node:buffer";
import { indexOfBytes } from "./byte-search.ts";
import { startsAsMedia } from "./media-start.ts";
import { isControl, isWideText, startsAsJson } from "./wide-text.ts";

export const FIRST_BYTES = 512;

const PDF = Buffer.from("%PDF-");
const MEDIA = /^(?:(?:image|audio|video)\/(?!svg)|application\/pdf\b)/;
const TEXT_TYPE =
  /^text\/|[/+](?:x-)?(?:json|jsonl|jsonlines|json5|ndjson|xml|csv|yaml|toml|javascript|ecmascript|typescript|python|ruby|php|httpd-php|sh|shellscript|sql|tex|rtf)\b/;
/** A character of UTF-8 has at most so many bytes after its first one. */
const MAX_FOLLOWING = 3;

/**
 * Whether the file is text. `type`: its media type as the client wrote it; null if it has none. `content`: its
 * first bytes, or more. With a control character among the first, all of it must be UTF-8.
 */
export function isTextFile(type: string | null, content: Uint8Array): boolean {
  if (startsAsText(type, content)) return true;
  return content.byteLength > 0 && !mayBeMedia(type, content) && isUtf8(withoutCutCharacter(content));
}

/** Whether the file is text by its media type or its first bytes, without a control character. */
export function startsAsText(type: string | null, content: Uint8Array): boolean {
  const first = content.subarray(0, FIRST_BYTES);
  if (first.byteLength === 0) return false;
  if (isTextType(inLowerCase(type))) return true;
  if (isPdf(first)) return false;
  if (isWideText(first) || startsAsJson(first)) return true;
  if (hasControls(first)) return false;
  return !mayBeMedia(type, first) || startsAsUtf8(content);
}

/** Whether the file is certainly an image, audio, video or PDF. */
export function isMediaFile(type: string | null, content: Uint8Array): boolean {
  return mayBeMedia(type, content) && !isTextFile(type, content);
}

/** Whether its media type or its first bytes say so. */
export function mayBeMedia(type: string | null, content: Uint8Array): boolean {
  return isMediaType(inLowerCase(type)) || startsAsMedia(content);
}

/** `type`: in lower case. */
export function isTextType(type: string): boolean {
  return TEXT_TYPE.test(type);
}

/** Whether this is the type of images, audio, video or PDF. `type`: in lower case. */
export function isMediaType(type: string): boolean {
  return MEDIA.test(type);
}

function isPdf(bytes: Uint8Array): boolean {
  return indexOfBytes(bytes.subarray(0, PDF.length), PDF, 0) === 0;
}

/** The last of the first characters may be cut. */
export function startsAsUtf8(content: Uint8Array): boolean {
  return content.byteLength <= FIRST_BYTES
    ? isUtf8(content)
    : isUtf8(withoutCutCharacter(content.subarray(0, FIRST_BYTES)));
}

/** Returns UTF-8 without its last character if bytes of that are missing. */
function withoutCutCharacter(bytes: Uint8Array): Uint8Array {
  const { byteLength } = bytes;
  for (let at = byteLength - 1; at >= 0 && at >= byteLength - MAX_FOLLOWING; at--) {
    const byte = bytes[at] ?? 0;
    if (byte < 0x80) break;
    if (byte < 0xc0) continue;
    const length = byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : byte < 0xf5 ? 4 : 1;
    return at + length > byteLength ? bytes.subarray(0, at) : bytes;
  }
  return bytes;
}

function hasControls(bytes: Uint8Array): boolean {
  return bytes.some(isControl);
}

function inLowerCase(type: string | null): string {
  return (type ?? "").trim().toLowerCase();
}
