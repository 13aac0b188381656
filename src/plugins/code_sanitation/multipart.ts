// Splits a multipart body into text that is inspected and the content of files, which is opaque: in binary data any characters occur by
// chance, and masking them would destroy the file. Parsers of forms differ in details, so a part is a file only if all of them agree.

export interface MultipartPiece {
  readonly text: string;
  readonly isFile: boolean;
}

const MULTIPART = /^multipart\/[\w.+-]+\s*;/i;
/** Every parameter that a parser may take for the boundary, also inside other parameters. */
const BOUNDARIES = /[;\s",]boundary[*\d]*\s*=/gi;
const BOUNDARY = /[;\s]boundary=(?:"([^"]{1,70})"|([^\s;",]{1,70}))/i;

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
/** Some parsers accept line breaks without CR. */
const EMPTY_LINE = /\r?\n\r?\n/;
const MAX_HEADERS_LENGTH = 8192;

/** Returns the delimiter between the parts, or null if the content type is not multipart or has more than one boundary. */
export function delimiterOf(contentType: string | null): string | null {
  if (contentType === null || !MULTIPART.test(contentType)) return null;
  if ([...contentType.matchAll(BOUNDARIES)].length > 1) return null;
  const [, quoted, plain] = BOUNDARY.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  return boundary === undefined ? null : `--${boundary}`;
}

/** Returns pieces that form the whole text when they are joined. Names and file names are inspected, contents of files are not. */
export function splitMultipart(text: string, delimiter: string): MultipartPiece[] {
  const pieces: MultipartPiece[] = [];
  let isLineStart = true;
  // A file ends with any delimiter: some parsers do not require a line break before it.
  for (const [index, part] of text.split(delimiter).entries()) {
    const before = index === 0 ? "" : delimiter;
    const headersEnd = part.indexOf("\r\n\r\n");
    if (index > 0 && isLineStart && headersEnd >= 0 && isFile(part.slice(0, headersEnd))) {
      pieces.push({ text: before + part.slice(0, headersEnd + 4), isFile: false });
      pieces.push({ text: part.slice(headersEnd + 4), isFile: true });
    } else pieces.push({ text: before + part, isFile: false });
    isLineStart = part.endsWith("\r\n") || (index === 0 && part === "");
  }
  return pieces;
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

/** Returns the texts between header fields and delimiters, where they begin and end in the text. Contents of files are left out. */
export function* contentsIn(
  text: string,
  delimiter: string,
): Generator<{ readonly start: number; readonly end: number }> {
  let at = 0;
  for (const { text: part, isFile: isOpaque } of splitMultipart(text, delimiter)) {
    const empty = isOpaque ? null : EMPTY_LINE.exec(part);
    const end = at + part.length - (part.endsWith("\r\n") ? 2 : 0);
    if (empty !== null) {
      const start = at + empty.index + empty[0].length;
      if (start < end) yield { start, end };
    }
    at += part.length;
  }
}
