// Splits a multipart body into text that is inspected and the content of files, which is opaque: in binary data any characters occur by
// chance, and masking them would destroy the file.

export interface MultipartPiece {
  readonly text: string;
  readonly isFile: boolean;
}

const BOUNDARY = /^multipart\/[\w.+-]+\s*;(?:.*;)?\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i;
const HAS_FILE_NAME = /^content-disposition:[^\r\n]*;\s*filename\*?=/im;

/** Returns the delimiter between the parts, or null if the content type is not multipart. */
export function delimiterOf(contentType: string | null): string | null {
  const [, quoted, plain] = BOUNDARY.exec(contentType ?? "") ?? [];
  const boundary = quoted ?? plain;
  return boundary === undefined ? null : `--${boundary}`;
}

/** Returns pieces that form the whole text when they are joined. Names and file names are inspected, contents of files are not. */
export function splitMultipart(text: string, delimiter: string): MultipartPiece[] {
  const pieces: MultipartPiece[] = [];
  for (const [index, part] of text.split(delimiter).entries()) {
    const before = index === 0 ? "" : delimiter;
    const headersEnd = part.indexOf("\r\n\r\n");
    if (headersEnd < 0 || !HAS_FILE_NAME.test(part.slice(0, headersEnd))) {
      pieces.push({ text: before + part, isFile: false });
      continue;
    }
    pieces.push({ text: before + part.slice(0, headersEnd + 4), isFile: false });
    pieces.push({ text: part.slice(headersEnd + 4), isFile: true });
  }
  return pieces;
}
