// Splits a multipart body into text that is inspected and the content of files, which is opaque: in binary data any characters occur by
// chance, and masking them would destroy the file. Parsers of forms differ in details, so a part is a file only if all of them agree.

export interface MultipartPiece {
  readonly text: string;
  readonly isFile: boolean;
  /** Whether the server has to decode the text before it reads it. */
  readonly isEncoded: boolean;
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
/** A Content-Transfer-Encoding with which the content is not the text itself. RFC 7578, section 4.7, forbids the field, but some parsers decode. */
const TRANSFER_ENCODING = /^content-transfer-encoding\s*:(?!\s*(?:7bit|8bit|binary)\s*$)/im;
/** Some parsers accept line breaks without CR. */
const EMPTY_LINE = /\r?\n\r?\n/;
const MAX_HEADERS_LENGTH = 8192;

/**
 * Returns pieces that form the whole text when they are joined: the contents of parts, and what is between them, with names and file names.
 * Contents of files are pieces of their own only if they are opaque. `delimiter`: null if it is not known for sure; then no content is opaque.
 */
export function splitMultipart(
  text: string,
  delimiter: string | null,
  hasOpaqueFiles: boolean,
): MultipartPiece[] {
  const separator = delimiter ?? ANY_DELIMITER;
  const pieces: MultipartPiece[] = [];
  let between = "";
  let isLineStart = true;
  // A file ends with any delimiter: some parsers do not require a line break before it.
  for (const [index, part] of text.split(separator).entries()) {
    if (index > 0) between += separator;
    const headersEnd = part.indexOf("\r\n\r\n");
    const mayBeFile = delimiter !== null && index > 0 && isLineStart && headersEnd >= 0;
    const isFilePart = mayBeFile && isFile(part.slice(0, headersEnd));
    isLineStart = part.endsWith("\r\n") || (index === 0 && part === "");
    const start = isFilePart ? headersEnd + 4 : contentStart(part);
    if (start < 0 || (isFilePart && !hasOpaqueFiles)) {
      between += part;
      continue;
    }
    const end = isFilePart ? part.length : contentEnd(part, start);
    const headers = part.slice(0, start);
    const isEncoded = !isFilePart && TRANSFER_ENCODING.test(headers);
    pieces.push({ text: between + headers, isFile: false, isEncoded: false });
    pieces.push({ text: part.slice(start, end), isFile: isFilePart, isEncoded });
    between = part.slice(end);
  }
  pieces.push({ text: between, isFile: false, isEncoded: false });
  return pieces;
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
