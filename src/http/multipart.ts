// Reads the Content-Type of multipart bodies (RFC 2046) for routing and for inspection: a boundary that parsers could read differently is
// ambiguous to both.

/** Parameters in the syntax of RFC 9110, section 5.6.6, without escapes, and without separators in quotes, where some parsers end a parameter. */
const PARAMETERS = /^multipart\/[\w.+-]+(?:[ \t]*;[ \t]*[\w.*'-]+=(?:"[^"\\;,]*"|[^\s"\\;,]+))*;?$/i;
/** Everything that a parser may take for the name of the parameter: some search for it, and some for its last occurrence. */
const BOUNDARY_NAMES = /boundary[*\d]*\s*=/gi;
/** The first occurrence of the name, and a value of the characters of RFC 2046, section 5.1.1, except for the comma. */
const BOUNDARY =
  /^(?:(?!boundary)[^])*[;\s](boundary)=(?:"([\w'()+./:=?-](?:[\w'()+./:=? -]{0,68}[\w'()+./:=?-])?)"|([\w'()+./:=?-]{1,70}))(?:;|$)/i;

/** Fields of a part that only some parsers read: a form in the part, and a parameter in pieces or in an unusual charset (RFC 2231). */
const NESTED_FORM = /^content-type\s*:(?:[^\r\n]|\r?\n[ \t])*multipart\//im;
const EXTENDED_PARAMETER = /[;\s][^\s;="*]+\*(?:\d+\*?\s*=|\s*=(?!(?:utf-8|us-ascii|iso-8859-1)?'))/i;

/** Returns the delimiter before each part, or null if the content type is not multipart or parsers may read another boundary in it. */
export function multipartDelimiter(contentType: string | null): string | null {
  if (contentType === null || !PARAMETERS.test(contentType)) return null;
  if ([...contentType.matchAll(BOUNDARY_NAMES)].length > 1) return null;
  const [, name, quoted, plain] = BOUNDARY.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) return null;
  // Some parsers search for the name in lower case first, anywhere.
  if (name !== "boundary" && contentType.includes("boundary")) return null;
  return `--${boundary}`;
}

/** Whether parsers may read other parts or other parameters in a part with these header fields. */
export function isAmbiguousPart(headers: string): boolean {
  return EXTENDED_PARAMETER.test(headers) || NESTED_FORM.test(headers);
}
