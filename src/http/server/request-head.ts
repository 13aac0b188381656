// Parses the request line and header fields of a client's request.
import type { FirstLine, HeaderFieldCache } from "../header-field-cache.ts";
import { HeaderFields } from "../header-fields.ts";
import { InvalidMessage } from "../invalid-message.ts";
import { isPersistent, lineEnd, parseFields, type FramingFields } from "../message-fields.ts";

export interface RequestHead {
  readonly method: string;
  /** As received: a path with an optional query, or a URL. */
  readonly target: string;
  readonly headers: HeaderFields;
  readonly isHttp10: boolean;
  readonly isKeepAlive: boolean;
  readonly framing: RequestFraming;
}

/** What ends the body: its length in bytes, which is 0 without a body, or the last chunk. */
type RequestFraming = number | "chunked";

/** Method, target and version. Some clients send UTF-8 in the target, although only ASCII is allowed (RFC 9112, section 3). */
const REQUEST_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}) ([!-~\x80-\xff]+) HTTP\/1\.([01])$/;
const NOT_ASCII = /[\x80-\xff]/g;
/** RFC 9112, section 6.3, allows to reject equal lengths. Some servers use one of them without a comparison. */
const ONE_LENGTH = /^\d+$/;
const SCHEME = /^https?:\/\/[^/?#]/i;

export interface RequestLine extends FirstLine {
  readonly method: string;
  readonly target: string;
  readonly isHttp10: boolean;
}

/** `text` is the header section without the final empty line, one character per byte. Throws InvalidMessage. */
export function parseRequestHead(text: string, cache: HeaderFieldCache<RequestLine>): RequestHead {
  const { line, method, target, isHttp10 } = cache.matchFirst(text) ?? parseRequestLine(text, cache);
  const headers = new HeaderFields();
  const fields = parseFields(text, line.length, cache, headers);
  if (!isHttp10 && !headers.has("host")) throw new InvalidMessage("the Host header is missing");
  const isKeepAlive = isPersistent(isHttp10, fields.connection);
  if (fields.contentLength !== null && !ONE_LENGTH.test(headers.get("content-length") ?? ""))
    throw new InvalidMessage("more than one Content-Length");
  const framing = framingOf(fields, isHttp10);
  return { method, target, headers, isHttp10, isKeepAlive, framing };
}

function parseRequestLine(text: string, cache: HeaderFieldCache<RequestLine>): RequestLine {
  const line = text.slice(0, lineEnd(text, 0));
  const [, method, target, minorVersion] = REQUEST_LINE.exec(line) ?? [];
  if (method === undefined || target === undefined) throw new InvalidMessage("invalid request line");
  if (!target.startsWith("/") && !SCHEME.test(target) && !(target === "*" && method === "OPTIONS"))
    throw new InvalidMessage("the request target is neither a path nor a URL");
  const encoded = target.replace(NOT_ASCII, percentEncoded);
  const parsed = { line, method, target: encoded, isHttp10: minorVersion === "0" };
  cache.storeFirst(text, parsed);
  return parsed;
}

/** Servers may disagree on the end of a body with both fields, or with a coding that one of them does not know. */
function framingOf({ contentLength, transferEncoding }: FramingFields, isHttp10: boolean): RequestFraming {
  if (transferEncoding === null) return contentLength ?? 0;
  if (contentLength !== null) throw new InvalidMessage("Content-Length and Transfer-Encoding");
  if (isHttp10) throw new InvalidMessage("Transfer-Encoding in HTTP/1.0");
  if (transferEncoding.toLowerCase() !== "chunked") throw new InvalidMessage("unsupported Transfer-Encoding");
  return "chunked";
}

function percentEncoded(byte: string): string {
  return `%${byte.charCodeAt(0).toString(16).toUpperCase()}`;
}
