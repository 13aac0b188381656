// A request to a provider, and its request line and header fields as sent over the wire.
import { GatehouseError } from "../base/errors.ts";
import type { ForwardedBody } from "../http/forwarded-body.ts";
import { LineWriter } from "../http/line-writer.ts";
import type { RequestCredential } from "./request-credential.ts";
import { serializeHandshake, type WebSocketHandshake } from "./websocket/handshake.ts";

export interface OutgoingRequest {
  readonly baseUrl: string;
  /** Only requests with the same key share connections: it represents base URL, gateway, and credential. */
  readonly poolKey: string;
  /** Whether the key represents a credential that the client sent. */
  readonly usesClientCredential: boolean;
  /** Whether the connection is closed after the response: nothing is known about the credential yet. */
  readonly isTrial?: boolean;
  /** Adds headers to the final request; null if `headers` has all of them. */
  readonly credential: RequestCredential | null;
  /** Including the query. Starts with a slash or is empty. */
  readonly path: string;
  readonly method: string;
  /** Names in lower case. `host` replaces the host of the base URL. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | null;
  /** A body that is sent while it arrives, instead of `body`. */
  readonly upload?: ForwardedBody | null;
  /** Set if the request starts a WebSocket. */
  readonly handshake?: WebSocketHandshake;
}

/** The part of an origin that a request names. */
export interface RequestOrigin {
  readonly host: string;
  readonly basePath: string;
}

/** Framing and connection management belong to the gateway; values set by the client or a plugin are dropped. */
const GATEWAY_HEADERS = new Set([
  "host",
  "content-length",
  "transfer-encoding",
  "connection",
  "keep-alive",
  "upgrade",
  "te",
  "trailer",
]);
const TARGET = /^[!-~]+$/;
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Characters are sent as one byte each, so a character beyond Latin-1 could become a line break. */
const INVALID_VALUE = /[^\t\x20-\x7e\x80-\xff]/;

/** Shared by all requests. Nothing else may use it: a field that it has already written is valid. */
const headWriter = new LineWriter();

/**
 * Writes the request line and the header fields. Returns a writer with them, which the next call uses again. Throws a GatehouseError if a
 * header field cannot be sent.
 */
export function writeRequestHead(
  { path, method, headers, body, upload = null, handshake }: OutgoingRequest,
  origin: RequestOrigin,
): LineWriter {
  const writer = headWriter;
  writer.begin();
  writer.text(method);
  writer.text(" ");
  writer.text(requestTargetOf(path, origin));
  writer.text(" HTTP/1.1\r\n");
  writeHost(writer, headers["host"] ?? origin.host);
  for (const name in headers) {
    const value = headers[name] ?? "";
    if (writer.repeatField(name, value)) continue;
    if (INVALID_VALUE.test(value) || !TOKEN.test(name)) throw invalidHeader(name);
    if (!GATEWAY_HEADERS.has(name)) writer.field(name, value);
  }
  if (handshake !== undefined) writer.text(serializeHandshake(handshake));
  if (body !== null) writeLength(writer, body.byteLength);
  else if (upload !== null) writeLength(writer, upload.length);
  else if (method === "POST" || method === "PUT" || method === "PATCH") writeLength(writer, 0);
  writer.lineEnd();
  return writer;
}

/** Not as a field: a value that the client sent is not validated yet. */
function writeHost(writer: LineWriter, host: string): void {
  writer.text("Host: ");
  writer.text(host);
  writer.lineEnd();
}

function writeLength(writer: LineWriter, length: number): void {
  writer.text("Content-Length: ");
  writer.number(length);
  writer.lineEnd();
}

/** The last target, which the next request mostly has, too. */
const last = { basePath: "", path: "", target: "/" };

/** Returns path and query as in the request line. */
export function requestTargetOf(path: string, { basePath }: RequestOrigin): string {
  if (path === last.path && basePath === last.basePath) return last.target;
  let target = basePath + path;
  if (target === "" || target.startsWith("?")) target = `/${target}`;
  if (!TARGET.test(target)) target = encodeURI(target.toWellFormed());
  last.path = path;
  last.basePath = basePath;
  last.target = target;
  return target;
}

function invalidHeader(name: string): GatehouseError {
  const shown = JSON.stringify(name.slice(0, 100));
  return new GatehouseError(
    "bad_request",
    `The header ${shown} has a character that is not allowed in a header; the request is not forwarded.`,
  );
}
