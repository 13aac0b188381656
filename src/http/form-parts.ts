// The parts of multipart forms (RFC 7578) in bytes. Parsers of forms differ in details: the reader takes the end of the headers where any
// parser does, and callers decide what to do with a part that parsers may read differently.
import { indexOfBytes, utf8Between } from "../base/byte-search.ts";
import { multipartDelimiter } from "./multipart.ts";

/** Usual servers accept at most 1,000 fields and 1,000 files. */
const MAX_PARTS = 2000;
const MAX_HEADER_BYTES = 4096;

const LINE_ENDS = [Buffer.from("\r\n\r\n"), Buffer.from("\n\n")];
const NAME = /^[^]*?[;\s]name=(?:"([\w[\]-]*)"|([\w[\]-]+))/;
/** What follows the last delimiter. */
const CLOSING = /^--[ \t]*(?:\r?\n)?$/;

export interface FormPart {
  /** From the line break after the delimiter up to the empty line. */
  readonly headers: string;
  /** Null if it is missing, or other than letters, digits, hyphens and brackets. */
  readonly name: string | null;
  /** Where the headers and the content are in the form. */
  readonly headersStart: number;
  readonly start: number;
  readonly end: number;
}

interface FormParts {
  readonly parts: readonly FormPart[];
  /** Whether there is something besides parts, such as a part without headers, or a text after the last delimiter. */
  readonly hasOther: boolean;
}

/** Returns null if the form cannot be read. */
export function formPartsOf(bytes: Uint8Array, contentType: string | null): FormParts | null {
  const delimiter = multipartDelimiter(contentType);
  if (delimiter === null) return null;
  const separator = Buffer.from(delimiter);
  let at = indexOfBytes(bytes, separator, 0);
  // Servers that ignore the content type may read what is before the first part.
  if (at < 0 || at > 2) return null;
  let hasOther = at > 0 && (bytes[0] !== 0x0d || bytes[1] !== 0x0a);
  const parts: FormPart[] = [];
  for (let count = 0; at >= 0; count++) {
    if (count > MAX_PARTS) return null;
    const headersStart = at + separator.length;
    const next = indexOfBytes(bytes, separator, headersStart);
    const part = bytes.subarray(headersStart, next < 0 ? bytes.byteLength : next);
    at = next;
    const found = endOfHeaders(part);
    if (found === null) {
      hasOther ||= next >= 0 || part.byteLength > 16 || !CLOSING.test(utf8Between(part, 0, part.byteLength));
      continue;
    }
    if (found.start > MAX_HEADER_BYTES) return null;
    const headers = utf8Between(part, 0, found.start);
    const [, quoted, plain] = NAME.exec(headers) ?? [];
    const start = headersStart + found.end;
    const end = headersStart + part.byteLength - (endsWithBreak(part) ? 2 : 0);
    parts.push({ headers, name: quoted ?? plain ?? null, headersStart, start, end: Math.max(start, end) });
  }
  return { parts, hasOther };
}

/** Returns where the headers of a part end, and where its content starts; null if it has no headers. */
function endOfHeaders(part: Uint8Array): { readonly start: number; readonly end: number } | null {
  const head = part.subarray(0, MAX_HEADER_BYTES + 4);
  const found = LINE_ENDS.map((lineEnd) => ({
    start: indexOfBytes(head, lineEnd, 0),
    length: lineEnd.length,
  }))
    .filter(({ start }) => start >= 0)
    .sort((a, b) => a.start - b.start);
  const [first] = found;
  if (first !== undefined) return { start: first.start, end: first.start + first.length };
  return part.byteLength > head.byteLength ? { start: MAX_HEADER_BYTES + 1, end: part.byteLength } : null;
}

/** The line break before the next delimiter is not part of the content. */
function endsWithBreak(part: Uint8Array): boolean {
  return part.at(-2) === 0x0d && part.at(-1) === 0x0a;
}
