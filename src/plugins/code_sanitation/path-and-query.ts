// Finds and masks code in the decoded path and query of a request. The path and its segments, each pair of the query, its name and its value are
// scanned separately: the `&` and `=` between them are not code, and many patterns match only where a text starts or ends. Only masked
// characters are encoded again.
import { hexValue } from "./char-classes.ts";
import type { Detector, Finding } from "./detector.ts";
import { maskUntilClean } from "./mask.ts";
import { pairsIn } from "./pairs.ts";

/** Characters that need no percent-encoding in a path and in a query. Any other mask character is percent-encoded. */
const PLAIN_MASK = /^[A-Za-z0-9\-._~!$'()*,;:@]$/;

/** Names of resources, models and parameters: no code. */
const PLAIN_NAME = /^[\w.~:@[\]-]*$/;

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
  return maskUntilClean(
    pathAndQuery,
    char,
    (current) => maskFound(current, detector, char),
    (current) => maskAll(current, char),
  );
}

/** Returns the path, its segments, each pair of the query, each name and value, and also the whole query if it contains `&&`, which may be code. */
function partsOf(pathAndQuery: string): Part[] {
  const mark = pathAndQuery.indexOf("?");
  const pathEnd = mark < 0 ? pathAndQuery.length : mark;
  const parts: Part[] = [{ start: 0, end: pathEnd, isQuery: false }, ...segmentsOf(pathAndQuery, pathEnd)];
  if (mark < 0) return parts;
  if (pathAndQuery.includes("&&", mark))
    parts.push({ start: mark + 1, end: pathAndQuery.length, isQuery: true });
  for (const { start, end, equals } of pairsIn(pathAndQuery, mark + 1)) {
    parts.push({ start, end, isQuery: true });
    if (equals < 0) continue;
    parts.push({ start: equals + 1, end, isQuery: true });
    if (!isPlain(pathAndQuery, start, equals)) parts.push({ start, end: equals, isQuery: true });
  }
  return parts;
}

/** Returns those segments of the path that may be more than a name. */
function segmentsOf(path: string, pathEnd: number): Part[] {
  const parts: Part[] = [];
  for (let start = 1; start < pathEnd;) {
    const slash = path.indexOf("/", start);
    const end = slash < 0 || slash > pathEnd ? pathEnd : slash;
    if (!isPlain(path, start, end)) parts.push({ start, end, isQuery: false });
    start = end + 1;
  }
  return parts;
}

function isPlain(text: string, start: number, end: number): boolean {
  return PLAIN_NAME.test(text.slice(start, end));
}

/** Masks what is found in any of the parts. All parts are scanned as they were: a pair is not scanned with its value masked. */
function maskFound(pathAndQuery: string, detector: Detector, char: string): string {
  /** By the position of a character, encoded or not: its end. */
  const masked = new Map<number, number>();
  for (const part of partsOf(pathAndQuery)) {
    const { text, starts } = decode(pathAndQuery.slice(part.start, part.end), part.isQuery);
    let done = 0;
    for (const { start, end } of detector.findAll(text)) {
      for (let unit = Math.max(start, done); unit < end; unit++) {
        const from = starts[unit] ?? 0;
        // A character of two units has one position.
        const to = starts[unit + 1] === from ? starts[unit + 2] : starts[unit + 1];
        masked.set(part.start + from, part.start + (to ?? from));
      }
      done = Math.max(done, end);
    }
  }
  // A path without its first slash would be invalid.
  masked.delete(0);
  return masked.size === 0 ? pathAndQuery : writeMask(pathAndQuery, masked, char);
}

function writeMask(pathAndQuery: string, masked: ReadonlyMap<number, number>, char: string): string {
  const encoded = encodedMask(char);
  let result = "";
  for (let at = 0; at < pathAndQuery.length;) {
    const end = masked.get(at);
    result += end === undefined ? (pathAndQuery[at] ?? "") : encoded;
    at = end ?? at + 1;
  }
  return result;
}

/** Masks all but the first slash and what separates the parts. */
function maskAll(pathAndQuery: string, char: string): string {
  const encoded = encodedMask(char);
  const mark = pathAndQuery.indexOf("?");
  const path = mark < 0 ? pathAndQuery : pathAndQuery.slice(0, mark);
  const query = mark < 0 ? "" : pathAndQuery.slice(mark);
  return `/${encoded.repeat(Math.max(0, path.length - 1))}${query.replace(/[^?&]/g, encoded)}`;
}

/** Returns the mask character as it may be written into a path, a query or a form. */
export function encodedMask(char: string): string {
  return PLAIN_MASK.test(char) ? char : encodeURIComponent(char);
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
  if (first < 0x80) return { text: String.fromCharCode(first), end: at + 3 };
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  try {
    return { text: decodeURIComponent(raw.slice(at, at + length * 3)), end: at + length * 3 };
  } catch {
    const code = overlongAt(raw, at, length);
    return code < 0
      ? { text: String.fromCharCode(first), end: at + 3 }
      : { text: String.fromCharCode(code), end: at + length * 3 };
  }
}

/** Returns the ASCII character that so many escapes encode in an overlong form, which some servers accept; -1 if they encode none. */
function overlongAt(raw: string, at: number, length: number): number {
  let code = byteAt(raw, at) & (0x7f >> length);
  for (let index = 1; index < length; index++) {
    const byte = byteAt(raw, at + index * 3);
    if (byte < 0 || (byte & 0xc0) !== 0x80) return -1;
    code = (code << 6) | (byte & 0x3f);
  }
  return length > 1 && code < 0x80 ? code : -1;
}

function byteAt(raw: string, at: number): number {
  const high = hexValue(raw.charCodeAt(at + 1) || 0);
  const low = hexValue(raw.charCodeAt(at + 2) || 0);
  return raw[at] === "%" && high >= 0 && low >= 0 ? high * 16 + low : -1;
}
