// Splits a multipart body into text that is inspected and the content of files, which is opaque: in binary data any characters occur by
// chance, and masking them would destroy the file. Parsers of forms differ in details, so a part is a file only if all of them agree.
import { isAmbiguousPart, isInspectedCharset, namesOtherCharset } from "../../sdk/index.ts";
import { startsAsWideText } from "./charset.ts";
import { decodeWords } from "./encoded-words.ts";

/** Why a form is rejected: servers may read a part in a way in which it was not inspected. */
export type UnreadablePart = "part_fields" | "part_encoding" | "part_charset";

export interface MultipartPiece {
  readonly text: string;
  readonly isFile: boolean;
}

interface MultipartText {
  /** They form the whole text when they are joined: the contents of parts, and what is between them, with names and file names. */
  readonly pieces: MultipartPiece[];
  /** Header fields with encoded words, as a server may decode them. */
  readonly decodedFields: string[];
  /** Null if all parts can be inspected. */
  readonly unreadable: UnreadablePart | null;
}

/** What every delimiter starts with. */
const ANY_DELIMITER = "\n--";

/** All header fields of a part, each in one line. */
const HEADERS = /^(?:\r\n[\w-]+:[^\r\n]*)+$/;
const DISPOSITIONS = /\r\ncontent-disposition:/gi;
/** Without backslashes, which are an escape to some parsers only. */
const PARAMETERS = String.raw`(?:; *[\w-]+\*?=(?:"[^"\\\r\n]*"|[^\s";\\]+))*`;
/** With a name that is not empty: without one, or only with `filename*`, some parsers take the part for a text. */
const FILE = new RegExp(
  String.raw`\r\ncontent-disposition: *form-data${PARAMETERS}; *filename=(?:"[^"\\\r\n]+"|[^\s";\\]+)${PARAMETERS}(?:\r\n|$)`,
  "i",
);
const FILE_NAMES = /filename\s*=/gi;
/** Encodings with which the content is not the text itself. RFC 7578, section 4.7, forbids such fields, but some parsers decode. */
const ENCODED =
  /^content-(?:transfer-encoding\s*:(?!\s*(?:7bit|8bit|binary)\s*$)|encoding\s*:(?!\s*identity\s*$))/im;
/** A part whose content is the charset of all others (RFC 7578, section 4.6). */
const CHARSET_PART = "_charset_";
/** Some parsers accept line breaks without CR. */
const EMPTY_LINE = /\r?\n\r?\n/;
const MAX_HEADERS_LENGTH = 8192;

/**
 * Contents of files are pieces of their own only if they are opaque. `delimiter`: null if it is not known for sure; then no content is opaque.
 * `onPart` is called for each part, and may throw.
 */
export function splitMultipart(
  text: string,
  delimiter: string | null,
  hasOpaqueFiles: boolean,
  onPart: () => void,
): MultipartText {
  const separator = delimiter ?? ANY_DELIMITER;
  const pieces: MultipartPiece[] = [];
  const decodedFields: string[] = [];
  let unreadable: UnreadablePart | null = null;
  let between = "";
  let isLineStart = true;
  // A file ends with any delimiter: some parsers do not require a line break before it.
  for (const [index, part] of text.split(separator).entries()) {
    onPart();
    if (index > 0) between += separator;
    const headersEnd = part.indexOf("\r\n\r\n");
    const mayBeFile = delimiter !== null && index > 0 && isLineStart && headersEnd >= 0;
    const isFilePart = mayBeFile && isFile(part.slice(0, headersEnd));
    isLineStart = part.endsWith("\r\n") || (index === 0 && part === "");
    const start = isFilePart ? headersEnd + 4 : contentStart(part);
    if (start < 0) {
      between += part;
      continue;
    }
    const end = isFilePart ? part.length : contentEnd(part, start);
    const fields = part.slice(0, start);
    const content = part.slice(start, end);
    const decoded = decodeWords(fields);
    if (decoded !== null && decoded !== fields) decodedFields.push(decoded);
    unreadable ??= unreadablePart(decoded, content, isFilePart);
    if (isFilePart && !hasOpaqueFiles) {
      between += part;
      continue;
    }
    pieces.push({ text: between + fields, isFile: false }, { text: content, isFile: isFilePart });
    between = part.slice(end);
  }
  pieces.push({ text: between, isFile: false });
  return { pieces, decodedFields, unreadable };
}

/** `fields`: null if they cannot be decoded. */
function unreadablePart(fields: string | null, content: string, isFilePart: boolean): UnreadablePart | null {
  if (fields === null || isAmbiguousPart(fields)) return "part_fields";
  if (isFilePart) return null;
  if (ENCODED.test(fields)) return "part_encoding";
  const isCharsetOfAll = fields.includes(CHARSET_PART) && !isInspectedCharset(content.trim());
  return isCharsetOfAll || namesOtherCharset(fields) || startsAsWideText(content) ? "part_charset" : null;
}

/** Returns where the content of a part starts; -1 if it has none. */
function contentStart(part: string): number {
  const empty = EMPTY_LINE.exec(part);
  return empty === null ? -1 : empty.index + empty[0].length;
}

/** Returns where the content of a part ends: the line break before a delimiter is not part of it. */
function contentEnd(part: string, start: number): number {
  const end = part.endsWith("\n") ? part.length - 1 : part.length;
  return Math.max(start, part[end - 1] === "\r" ? end - 1 : end);
}

/** Whether a part with these header fields is a file to every parser. */
function isFile(headers: string): boolean {
  return (
    headers.length <= MAX_HEADERS_LENGTH &&
    HEADERS.test(headers) &&
    [...headers.matchAll(DISPOSITIONS)].length === 1 &&
    [...headers.matchAll(FILE_NAMES)].length === 1 &&
    FILE.test(headers)
  );
}
