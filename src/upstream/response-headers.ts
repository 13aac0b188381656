// Parses the status line and header fields of a provider's response.
import type { FirstLine, HeaderFieldCache } from "../http/header-field-cache.ts";
import { HeaderFields } from "../http/header-fields.ts";
import { InvalidMessage } from "../http/invalid-message.ts";
import { CONTROL_CHARACTER, isPersistent, lineEnd, parseFields } from "../http/message-fields.ts";

export interface ParsedResponseHeaders {
  readonly status: number;
  readonly headers: HeaderFields;
  readonly framing: Framing;
  /** Whether the connection can carry another request after this response. */
  readonly isKeepAlive: boolean;
}

/** What ends the body: its length in bytes, the last chunk, or the end of the connection. */
type Framing = number | "chunked" | "until_close";

const STATUS_LINE = /^HTTP\/1\.[01] [1-5]\d\d(?: |\r|$)/;
const ZERO = 0x30;

export interface StatusLine extends FirstLine {
  readonly status: number;
  readonly isHttp10: boolean;
}

/** `text` is the header section without the final empty line, one character per byte. Throws InvalidMessage. */
export function parseResponseHeaders(
  text: string,
  method: string,
  cache: HeaderFieldCache<StatusLine>,
): ParsedResponseHeaders {
  const { line, status, isHttp10 } = cache.matchFirst(text) ?? parseStatusLine(text, cache);
  const headers = new HeaderFields();
  const { contentLength, transferEncoding, connection } = parseFields(text, line.length, cache, headers);
  const framing = framingOf(method, status, contentLength, transferEncoding);
  const isKeepAlive =
    framing !== "until_close" &&
    isUnambiguous(isHttp10, status, contentLength, transferEncoding) &&
    isPersistent(isHttp10, connection);
  return { status, headers, framing, isKeepAlive };
}

function parseStatusLine(text: string, cache: HeaderFieldCache<StatusLine>): StatusLine {
  const line = text.slice(0, lineEnd(text, 0));
  if (!STATUS_LINE.test(text) || CONTROL_CHARACTER.test(line))
    throw new InvalidMessage("invalid status line");
  const parsed = { line, status: Number(text.slice(9, 12)), isHttp10: text.charCodeAt(7) === ZERO };
  cache.storeFirst(text, parsed);
  return parsed;
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

function framingOf(method: string, status: number, length: number | null, coding: string | null): Framing {
  if (status < 200 && (coding !== null || (length ?? 0) > 0))
    throw new InvalidMessage("interim response with a body");
  if (method === "HEAD" || status < 200 || status === 204 || status === 304) return 0;
  if (coding !== null) {
    if (coding.toLowerCase() !== "chunked") throw new InvalidMessage("unsupported Transfer-Encoding");
    return "chunked";
  }
  return length ?? "until_close";
}
