// Parses the header fields of a request or response. Parsing is strict, because a message that two servers read differently
// allows smuggling.
import type { HeaderFieldCache } from "./header-field-cache.ts";
import type { HeaderFields } from "./header-fields.ts";
import { InvalidMessage } from "./invalid-message.ts";

const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
/** Without CR and LF, which `lineEnd` checks. */
export const CONTROL_CHARACTER = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/;
const DIGITS = /^\d{1,15}$/;
const MAX_FIELDS = 256;
const TAB = 0x09;
const SPACE = 0x20;

/** What the fields say about the message and its connection. */
export interface FramingFields {
  readonly contentLength: number | null;
  /** The values of all Transfer-Encoding fields, separated by commas. */
  readonly transferEncoding: string | null;
  /** The values of all Connection fields, separated by commas. */
  readonly connection: string | null;
}

/** Parses the fields of the header section `text` that follow the line that ends at `firstLineEnd`, and adds them to `headers`. */
export function parseFields(
  text: string,
  firstLineEnd: number,
  cache: HeaderFieldCache,
  headers: HeaderFields,
): FramingFields {
  let end = firstLineEnd;
  let contentLength: number | null = null;
  let transferEncoding: string | null = null;
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
    if (name === "content-length") contentLength = parseContentLength(contentLength, value);
    else if (name === "transfer-encoding")
      transferEncoding = transferEncoding === null ? value : `${transferEncoding},${value}`;
    else if (name === "connection") connection = connection === null ? value : `${connection},${value}`;
  }
  if (headers.names.length > MAX_FIELDS) throw new InvalidMessage(`more than ${MAX_FIELDS} header fields`);
  return { contentLength, transferEncoding, connection };
}

/** Whether the connection stays open after the message. `connection`: the values of all Connection fields, separated by commas. */
export function isPersistent(isHttp10: boolean, connection: string | null): boolean {
  if (connection === null) return !isHttp10;
  if (connection === "keep-alive") return true;
  const options = connection.toLowerCase().split(",");
  if (options.some((option) => option.includes("close"))) return false;
  return !isHttp10 || options.some((option) => option.trim() === "keep-alive");
}

/** Returns the end of the line that starts at `start`. A CR or LF alone does not end a line and is rejected. */
export function lineEnd(text: string, start: number): number {
  const end = text.indexOf("\r", start);
  const feed = text.indexOf("\n", start);
  if (end < 0 && feed < 0) return text.length;
  if (feed !== end + 1 || end < 0) throw new InvalidMessage("control character in a header field");
  return end;
}

/** Adds the header field that starts at `start` and returns its end. */
function parseField(
  text: string,
  start: number,
  position: number,
  cache: HeaderFieldCache,
  headers: HeaderFields,
): number {
  const end = lineEnd(text, start);
  const line = text.slice(start, end);
  if (CONTROL_CHARACTER.test(line)) throw new InvalidMessage("control character in a header field");
  const colon = line.indexOf(":");
  if (colon < 0) throw new InvalidMessage("header field without a colon");
  const name = line.slice(0, colon).toLowerCase();
  // This also rejects folded lines (RFC 9112, section 5.2), which start with a space.
  if (!TOKEN.test(name)) throw new InvalidMessage("invalid header field name");
  const value = trimmed(line, colon + 1, line.length);
  headers.add(name, value);
  cache.store(position, text, start, end, name, value);
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

/** Some senders repeat the length, in one field or in several; all values must be equal (RFC 9112, section 6.3). */
function parseContentLength(known: number | null, value: string): number {
  if (known === null && DIGITS.test(value)) return Number(value);
  for (const each of value.split(",")) {
    const digits = trimmed(each, 0, each.length);
    if (!DIGITS.test(digits) || (known !== null && known !== Number(digits)))
      throw new InvalidMessage("invalid Content-Length");
    known = Number(digits);
  }
  return known ?? 0;
}
