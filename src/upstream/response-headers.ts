// Parses the status line and header fields of a provider's response. Parsing is strict, because a response that two
// servers read differently allows response smuggling.
import type { HeaderFieldCache } from "./header-field-cache.ts";

export interface ParsedResponseHeaders {
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly framing: Framing;
  /** Whether the connection can carry another request after this response. */
  readonly isKeepAlive: boolean;
}

/** What ends the body: its length in bytes, the last chunk, or the end of the connection. */
type Framing = number | "chunked" | "until_close";

/** The response is not valid HTTP. */
export class InvalidResponse extends Error {
  override readonly name = "InvalidResponse";
}

/** Header fields in the order in which they were received, including repeated ones. Names are in lower case. */
export class ResponseHeaders {
  readonly names: string[] = [];
  readonly values: string[] = [];

  add(name: string, value: string): void {
    this.names.push(name);
    this.values.push(value);
  }

  /** Returns the value of a field, joined by commas if it is repeated (RFC 9110, section 5.3), or null. */
  get(name: string): string | null {
    const { names, values } = this;
    let found: string | null = null;
    for (let index = 0; index < names.length; index++) {
      if (names[index] !== name) continue;
      const value = values[index] ?? "";
      found = found === null ? value : `${found}, ${value}`;
    }
    return found;
  }
}

const STATUS_LINE = /^HTTP\/1\.[01] [1-5]\d\d(?: |\r|$)/;
const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;

/** Without CR and LF, which `lineEnd` checks. */
const CONTROL_CHARACTER = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/;
const DIGITS = /^\d{1,15}$/;
const MAX_FIELDS = 256;
const TAB = 0x09;
const SPACE = 0x20;
const ZERO = 0x30;

/** `text` is the header section without the final empty line, one character per byte. */
export function parseResponseHeaders(
  text: string,
  method: string,
  cache: HeaderFieldCache,
): ParsedResponseHeaders {
  let end = lineEnd(text, 0);
  if (!STATUS_LINE.test(text) || CONTROL_CHARACTER.test(text.slice(0, end)))
    throw new InvalidResponse("invalid status line");
  const isHttp10 = text.charCodeAt(7) === ZERO;
  const status = Number(text.slice(9, 12));
  const headers = new ResponseHeaders();
  let length: number | null = null;
  let coding: string | null = null;
  let connection: string | null = null;
  for (let position = 0; end < text.length; position++) {
    const start = end + 2;
    const cached = cache.match(position, text, start);
    if (cached === null) end = parseField(text, start, position, cache, headers);
    else {
      end = start + cached.line.length;
      headers.add(cached.name, cached.value);
    }
    const name = headers.names[position];
    const value = headers.values[position] ?? "";
    if (name === "content-length") length = parseContentLength(length, value);
    else if (name === "transfer-encoding") coding = coding === null ? value : `${coding},${value}`;
    else if (name === "connection") connection = connection === null ? value : `${connection},${value}`;
  }
  if (headers.names.length > MAX_FIELDS) throw new InvalidResponse(`more than ${MAX_FIELDS} header fields`);
  const framing = framingOf(method, status, length, coding);
  const isKeepAlive =
    framing !== "until_close" &&
    isUnambiguous(isHttp10, status, length, coding) &&
    isPersistent(isHttp10, connection);
  return { status, headers, framing, isKeepAlive };
}

/** Whether every reader of the response finds the same end of it. Otherwise its connection must not be reused. */
function isUnambiguous(
  isHttp10: boolean,
  status: number,
  length: number | null,
  coding: string | null,
): boolean {
  // A 204 has no body (RFC 9112, section 6.3), but a server that announces one may send it.
  if (status === 204) return coding === null && (length ?? 0) === 0;
  // RFC 9112, section 6.1: HTTP/1.0 has no transfer codings. Section 6.3: with a length and chunks, the chunks count.
  return coding === null || (length === null && !isHttp10);
}

/** `connection` holds the values of all Connection fields, separated by commas. */
function isPersistent(isHttp10: boolean, connection: string | null): boolean {
  if (connection === null) return !isHttp10;
  if (connection === "keep-alive") return true;
  const options = connection.toLowerCase().split(",");
  if (options.some((option) => option.includes("close"))) return false;
  return !isHttp10 || options.some((option) => trimmed(option, 0, option.length) === "keep-alive");
}

/** Adds the header field that starts at `start` and returns its end. */
function parseField(
  text: string,
  start: number,
  position: number,
  cache: HeaderFieldCache,
  headers: ResponseHeaders,
): number {
  const end = lineEnd(text, start);
  const line = text.slice(start, end);
  if (CONTROL_CHARACTER.test(line)) throw new InvalidResponse("control character in a header field");
  const colon = line.indexOf(":");
  if (colon < 0) throw new InvalidResponse("header field without a colon");
  const name = line.slice(0, colon).toLowerCase();
  // This also rejects folded lines (RFC 9112, section 5.2), which start with a space.
  if (!TOKEN.test(name)) throw new InvalidResponse("invalid header field name");
  const value = trimmed(line, colon + 1, line.length);
  headers.add(name, value);
  cache.store(position, text, start, end, name, value);
  return end;
}

/** Returns the end of the line that starts at `start`. A CR or LF alone does not end a line and is rejected. */
function lineEnd(text: string, start: number): number {
  const end = text.indexOf("\r", start);
  const feed = text.indexOf("\n", start);
  if (end < 0 && feed < 0) return text.length;
  if (feed !== end + 1 || end < 0) throw new InvalidResponse("control character in a header field");
  return end;
}

/** Returns the text between two places without surrounding spaces and tabs. */
function trimmed(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isBlank(character: number): boolean {
  return character === SPACE || character === TAB;
}

/** Some servers repeat the length, in one field or in several; all values must be equal (RFC 9112, section 6.3). */
function parseContentLength(known: number | null, value: string): number {
  if (known === null && DIGITS.test(value)) return Number(value);
  for (const each of value.split(",")) {
    const digits = trimmed(each, 0, each.length);
    if (!DIGITS.test(digits) || (known !== null && known !== Number(digits)))
      throw new InvalidResponse("invalid Content-Length");
    known = Number(digits);
  }
  return known ?? 0;
}

function framingOf(method: string, status: number, length: number | null, coding: string | null): Framing {
  if (status < 200 && (coding !== null || (length ?? 0) > 0))
    throw new InvalidResponse("interim response with a body");
  if (method === "HEAD" || status < 200 || status === 204 || status === 304) return 0;
  if (coding !== null) {
    if (coding.toLowerCase() !== "chunked") throw new InvalidResponse("unsupported Transfer-Encoding");
    return "chunked";
  }
  return length ?? "until_close";
}
