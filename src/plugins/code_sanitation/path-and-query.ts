// Finds and masks code in the decoded path and query of a request. The path, each pair of the query and each value are scanned
// separately, so that the `&` and `=` between them are not taken for code. Only masked characters are encoded again.
import type { Detector, Finding } from "./detector.ts";
import { maskText } from "./mask.ts";

/** Characters that need no percent-encoding in a path and in a query. Any other mask character is percent-encoded. */
const PLAIN_MASK = /^[A-Za-z0-9\-._~!$'()*,;:@]$/;
/** Masking a value may complete a pattern in its pair, so masking is repeated. After this many rounds all is masked. */
const MAX_ROUNDS = 4;

/** Decoded text, and where in the raw text each of its units starts. The last element of `starts` is the end. */
interface Decoded {
  readonly text: string;
  readonly starts: readonly number[];
}

interface Part {
  readonly start: number;
  readonly end: number;
  readonly isQuery: boolean;
}

export function firstInPathAndQuery(pathAndQuery: string, detector: Detector): Finding | null {
  for (const part of partsOf(pathAndQuery)) {
    const { text, starts } = decode(pathAndQuery.slice(part.start, part.end), part.isQuery);
    const finding = detector.first(text);
    if (finding === null) continue;
    const start = part.start + (starts[finding.start] ?? 0);
    return { ...finding, start, end: part.start + (starts[finding.end] ?? part.end - part.start) };
  }
  return null;
}

/** Returns a valid path and query with the code masked; everything outside a match stays as it was. */
export function maskPathAndQuery(pathAndQuery: string, detector: Detector, char: string): string {
  let masked = pathAndQuery;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const before = masked;
    masked = maskParts(masked, (raw, isQuery) =>
      maskRaw(raw, isQuery, (text) => maskText(text, detector, char), char),
    );
    if (masked === before) return masked;
  }
  if (firstInPathAndQuery(masked, detector) === null) return masked;
  return maskParts(masked, (raw, isQuery) => maskRaw(raw, isQuery, (text) => char.repeat(text.length), char));
}

/** Returns the path, each pair of the query, each value, and also the whole query if it contains `&&`, which may be code. */
function partsOf(pathAndQuery: string): Part[] {
  const mark = pathAndQuery.indexOf("?");
  const pathEnd = mark < 0 ? pathAndQuery.length : mark;
  const parts: Part[] = [{ start: 0, end: pathEnd, isQuery: false }];
  if (mark < 0) return parts;
  if (pathAndQuery.includes("&&", mark))
    parts.push({ start: mark + 1, end: pathAndQuery.length, isQuery: true });
  let equals = pathAndQuery.indexOf("=", mark + 1);
  for (let start = mark + 1; start <= pathAndQuery.length;) {
    const next = pathAndQuery.indexOf("&", start);
    const end = next < 0 ? pathAndQuery.length : next;
    parts.push({ start, end, isQuery: true });
    // Searched again only when it was passed: a query may have many `&` and no `=`.
    if (equals >= 0 && equals < start) equals = pathAndQuery.indexOf("=", start);
    if (equals >= start && equals < end) parts.push({ start: equals + 1, end, isQuery: true });
    start = end + 1;
  }
  return parts;
}

/** Masks the path, then the pairs and values of the query. */
function maskParts(pathAndQuery: string, mask: (raw: string, isQuery: boolean) => string): string {
  const mark = pathAndQuery.indexOf("?");
  const path = mark < 0 ? pathAndQuery : pathAndQuery.slice(0, mark);
  const maskedPath = keepFirstSlash(path, mask(path, false));
  if (mark < 0) return maskedPath;
  let query = pathAndQuery.slice(mark + 1);
  if (query.includes("&&")) query = mask(query, true);
  const pairs = query.split("&").map((pair) => {
    const masked = mask(pair, true);
    const equals = masked.indexOf("=");
    return equals < 0 ? masked : masked.slice(0, equals + 1) + mask(masked.slice(equals + 1), true);
  });
  return `${maskedPath}?${pairs.join("&")}`;
}

/** Restores the first slash of a masked path: a path without it would be invalid. */
function keepFirstSlash(path: string, masked: string): string {
  if (masked === path || !path.startsWith("/") || masked.startsWith("/")) return masked;
  // One masked unit is one character, or three if it is percent-encoded.
  return `/${masked.slice(masked.startsWith("%") ? 3 : 1)}`;
}

/** Returns the mask character as it may be written into a path, a query or a form. */
export function encodedMask(char: string): string {
  return PLAIN_MASK.test(char) ? char : encodeURIComponent(char);
}

function maskRaw(raw: string, isQuery: boolean, mask: (text: string) => string, char: string): string {
  const { text, starts } = decode(raw, isQuery);
  const masked = mask(text);
  if (masked === text) return raw;
  const encoded = encodedMask(char);
  let result = "";
  for (let unit = 0; unit < text.length; unit++) {
    const isKept = text.charCodeAt(unit) === masked.charCodeAt(unit);
    result += isKept ? raw.slice(starts[unit], starts[unit + 1]) : encoded;
  }
  return result;
}

/** Percent-decodes once, as the receiver does. Invalid escapes are kept as they are. In a query, `+` is a space. */
function decode(raw: string, isQuery: boolean): Decoded {
  let text = "";
  const starts: number[] = [];
  let at = 0;
  while (at < raw.length) {
    const escape = raw[at] === "%" ? decodeEscape(raw, at) : null;
    const unit = escape?.text ?? (isQuery && raw[at] === "+" ? " " : (raw[at] ?? ""));
    for (let index = 0; index < unit.length; index++) starts.push(at);
    text += unit;
    at = escape?.end ?? at + 1;
  }
  starts.push(raw.length);
  return { text, starts };
}

/** Decodes one character: as many escapes as it has UTF-8 bytes. A byte that is not valid UTF-8 becomes one unit. */
function decodeEscape(raw: string, at: number): { text: string; end: number } | null {
  const first = byteAt(raw, at);
  if (first < 0) return null;
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  try {
    return { text: decodeURIComponent(raw.slice(at, at + length * 3)), end: at + length * 3 };
  } catch {
    return { text: String.fromCharCode(first), end: at + 3 };
  }
}

function byteAt(raw: string, at: number): number {
  return /^%[0-9A-Fa-f]{2}$/.test(raw.slice(at, at + 3))
    ? Number.parseInt(raw.slice(at + 1, at + 3), 16)
    : -1;
}
