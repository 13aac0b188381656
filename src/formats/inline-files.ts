// Files within JSON: in base64, or as data URLs (RFC 2397). Those that are text are read as text, and written back in the same form.
import { isUtf8 } from "node:buffer";
import { percentDecodedLeniently } from "../base/percent-decoded.ts";
import { isTextFile } from "../base/text-bytes.ts";

/** `text`: null if the file is text that cannot be read for sure. `encode` returns the string for a changed text. */
interface InlineText {
  readonly text: string | null;
  readonly encode: (text: string) => string;
}

const MEDIA = "media";
export type InlineFile = InlineText | typeof MEDIA;

/** Parsers of URLs ignore line breaks and tabs anywhere. */
const DATA_URL = /^\s*d\s*a\s*t\s*a\s*:/i;
/** A text may begin with the word "data" and a colon. */
const TYPED_DATA_URL = /^data:(?:[\w.+-]+\/[\w.+*-]+|(?=;))(?:;[^;,\s]+)*,/i;
/** Longer headers of data URLs are not read. */
const MAX_HEADER = 1024;
const BASE64_HEADER = /;\s*base64\s*$/i;
const OTHER_CHARSET = /;\s*charset\s*=\s*(?!"?(?:utf-?8|(?:us-)?ascii)"?\s*(?:;|$))/i;
const BASE64 = /^[\w+/-]*={0,2}$/;
const OTHER_CHARACTERS = /[^\w+/-]+/g;
/** Line breaks of MIME (RFC 2045). */
const BREAKS = /[\r\n]+/g;
const SPACE = /\s/;
const SPACES = /\s+/g;
/** As many characters as the first bytes take that tell text from media. */
const FIRST_CHARACTERS = 800;
/** Fewer bytes are text by chance. */
const MIN_BYTES = 16;
/** Of a file without a type only UTF-8 is text: random bytes may have no control characters. */
const UNKNOWN = "image/unknown";
const UNREADABLE: InlineText = { text: null, encode: (text) => text };

/** `isUrl`: the string must be a URL, however it is written. Returns null if the string is no data URL. */
export function readDataUrl(url: string, isUrl: boolean): InlineFile | null {
  const start = url.slice(0, MAX_HEADER);
  if (!(isUrl ? DATA_URL : TYPED_DATA_URL).test(start)) return null;
  const comma = start.indexOf(",");
  if (comma < 0) return url.includes(",") ? UNREADABLE : null;
  const header = url.slice(0, comma);
  const data = url.slice(comma + 1);
  const type = header
    .slice(header.indexOf(":") + 1)
    .trim()
    .toLowerCase();
  if (OTHER_CHARSET.test(header)) return UNREADABLE;
  const prefix = `${header},`;
  if (BASE64_HEADER.test(header)) {
    const file = readBase64(percentDecodedLeniently(data), type);
    if (file === null && isUrl) return UNREADABLE;
    if (file === null || file === MEDIA) return file;
    return { text: file.text, encode: (changed) => prefix + file.encode(changed) };
  }
  // The default media type is text/plain.
  const decoded = percentDecodedLeniently(data);
  if (type !== "" && !isTextFile(type, Buffer.from(decoded))) return MEDIA;
  return { text: decoded, encode: (changed) => prefix + encodeURIComponent(changed.toWellFormed()) };
}

/** `type`: the media type in lower case; null if it is not known. Returns null if the string is no base64: then it is a text itself. */
export function readBase64(text: string, type: string | null): InlineFile | null {
  const joined = SPACE.test(text) ? text.replaceAll(SPACES, "") : text;
  if (joined === "") return null;
  if (!BASE64.test(joined)) {
    // Lenient decoders skip other characters.
    const bytes = lenientBytes(text);
    return bytes.byteLength >= MIN_BYTES && isTextFile(UNKNOWN, bytes) ? UNREADABLE : null;
  }
  if (!isTextFile(type ?? UNKNOWN, Buffer.from(joined.slice(0, FIRST_CHARACTERS), "base64")))
    // With spaces, it may as well be a text of letters.
    return joined === text || joined === text.replaceAll(BREAKS, "") ? MEDIA : null;
  const bytes = Buffer.from(joined, "base64");
  const encode = (changed: string) => Buffer.from(changed).toString("base64");
  return { text: isUtf8(bytes) ? bytes.toString() : null, encode };
}

/** The first bytes of what lenient decoders read. */
function lenientBytes(text: string): Uint8Array {
  return Buffer.from(text.slice(0, 4 * FIRST_CHARACTERS).replaceAll(OTHER_CHARACTERS, ""), "base64");
}
