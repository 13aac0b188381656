// Files within JSON and forms: in base64, or as data URLs (RFC 2397). Those that are text are read as text, and
// written back in the same form.
import { isUtf8 } from "node:buffer";
import { percentDecodedLeniently } from "../base/percent-decoded.ts";
import { mayBeMedia, startsAsText, startsAsUtf8 } from "../base/text-bytes.ts";

/**
 * `text`: null if the file is text that cannot be read for sure. `encode` returns the string for a changed text.
 * `current`: the string so far, whose header may have changed.
 */
interface InlineText {
  readonly text: string | null;
  readonly encode: (text: string, current: string) => string;
}

const MEDIA = "media";
const BINARY = "binary";
/** `binary`: no text, and not certainly media either. */
export type InlineFile = InlineText | typeof MEDIA | typeof BINARY;

interface DataUrl {
  readonly file: InlineFile;
  /** The part before the comma; null if the string counts as a text, too. */
  readonly header: string | null;
}

/** Parsers of URLs ignore line breaks and tabs anywhere. */
const DATA_URL = /^\s*d\s*a\s*t\s*a\s*:/i;
/** A text may begin with the word "data" and a colon. */
const TYPED_DATA_URL = /^data:(?:[\w.+-]+\/[\w.+*-]+|(?=;))(?:;[^;,\s]+)*,/i;
/** As clients write it where the API has a URL. */
const USUAL_DATA_URL = /^data:(?:[\w.+-]+\/[\w.+*-]+)?(?:; ?[^;,\s]+)*,/i;
/** Longer headers of data URLs are not read. */
const MAX_HEADER = 1024;
const BASE64_HEADER = /;\s*base64\s*$/i;
const OTHER_CHARSET = /;\s*charset\s*=\s*(?!"?(?:utf-?8|(?:us-)?ascii)"?\s*(?:;|$))/i;
const BASE64 = /^[\w+/-]*={0,2}$/;
const OTHER_CHARACTERS = /[^\w+/-]+/g;
/** Line breaks of MIME (RFC 2045). */
const BREAKS = /[\r\n]+/;
const SPACE = /\s/;
const SPACES = /\s+/g;
/** Media may begin with silence, which is zeros. */
const PRINTED = /[^\0-\x1f]/;
/** As many characters as the first bytes take that tell text from media. */
const FIRST_CHARACTERS = 800;
/** Fewer bytes are text by chance. */
const MIN_BYTES = 16;
/** Of a file without a type only UTF-8 is text: random bytes may have no control characters. */
const UNKNOWN = "image/unknown";
const UNREADABLE: InlineText = { text: null, encode: (text) => text };

/** `isFile`: the API has a file in this place. Returns null if the string is a text and nothing else. */
export function readDataUrl(url: string, isFile: boolean): DataUrl | null {
  const start = url.slice(0, MAX_HEADER);
  if (!(isFile ? DATA_URL : TYPED_DATA_URL).test(start)) return null;
  const comma = start.indexOf(",");
  if (comma < 0) return url.includes(",") ? { file: UNREADABLE, header: null } : null;
  const header = url.slice(0, comma);
  const data = url.slice(comma + 1);
  const file = readData(header, data);
  if (isFile && USUAL_DATA_URL.test(start)) return { file: file ?? UNREADABLE, header };
  if (file === null) return isFile ? { file: UNREADABLE, header: null } : null;
  return typeof file === "string" || file.text === data ? null : { file, header: null };
}

/** Returns null if the data is no base64 although the header says so. */
function readData(header: string, data: string): InlineFile | null {
  if (OTHER_CHARSET.test(header)) return UNREADABLE;
  const decoded = percentDecodedLeniently(data);
  const encodeWith = (encode: InlineText["encode"]) => (text: string, current: string) =>
    current.slice(0, current.indexOf(",") + 1) + encode(text, current);
  if (!BASE64_HEADER.test(header))
    return { text: decoded, encode: encodeWith((text) => encodeURIComponent(text.toWellFormed())) };
  const type = header.slice(header.indexOf(":") + 1).trim();
  const file = readBase64(decoded, type.toLowerCase());
  return file === null || typeof file === "string" ? file : { ...file, encode: encodeWith(file.encode) };
}

/** `type`: the media type in lower case; null if it is not known. Returns null if the string is no base64: then it is a text itself. */
export function readBase64(text: string, type: string | null): InlineFile | null {
  const joined = SPACE.test(text) ? text.replaceAll(SPACES, "") : text;
  if (joined === "") return null;
  if (!BASE64.test(joined)) {
    // Lenient decoders skip other characters.
    const bytes = lenientBytes(text);
    return bytes.byteLength >= MIN_BYTES && (startsAsText(UNKNOWN, bytes) || startsAsUtf8(bytes))
      ? UNREADABLE
      : null;
  }
  const start = Buffer.from(joined.slice(0, FIRST_CHARACTERS), "base64");
  const isText = startsAsText(type ?? UNKNOWN, start);
  // With spaces, it may as well be a text of letters.
  const isEncoded = joined === text || isWrapped(text);
  // A control character at its start would hide a text.
  if (isText || (isEncoded && !mayBeMedia(null, start) && startsAsUtf8(start))) {
    const bytes = Buffer.from(joined, "base64");
    const encode = (changed: string) => Buffer.from(changed).toString("base64");
    const read = isUtf8(bytes) ? bytes.toString() : null;
    if (isText || PRINTED.test(read ?? "")) return { text: read, encode };
  }
  if (!isEncoded) return null;
  return mayBeMedia(type, start) ? MEDIA : BINARY;
}

/** Encoders of base64 write lines of the same length, except the last one. */
function isWrapped(text: string): boolean {
  const lines = text.trim().split(BREAKS);
  const last = lines.pop() ?? "";
  const [first = last] = lines;
  return (
    !SPACE.test(lines.join("")) &&
    !SPACE.test(last) &&
    lines.every((line) => line.length === first.length) &&
    last.length <= first.length
  );
}

/** The first bytes of what lenient decoders read. */
function lenientBytes(text: string): Uint8Array {
  return Buffer.from(text.slice(0, 4 * FIRST_CHARACTERS).replaceAll(OTHER_CHARACTERS, ""), "base64");
}
