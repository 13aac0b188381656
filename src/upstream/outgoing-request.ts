// A request as it goes to a provider, and its head on the wire.
import { GatehouseError } from "../base/errors.ts";

export interface OutgoingRequest {
  readonly baseUrl: string;
  /** With its query; begins with a slash or is empty. */
  readonly path: string;
  readonly method: string;
  /** Names in lower case; a `host` among them stands for the provider's own. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | null;
}

/** Where it goes: see Origin. */
interface Place {
  readonly host: string;
  readonly basePath: string;
}

/** How a request is framed, and what becomes of its connection, is ours to say, whoever set these. */
const OURS = new Set([
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
/** What a header cannot hold. Written a byte a character, anything beyond Latin-1 could become a line break. */
const UNSENDABLE = /[^\t\x20-\x7e\x80-\xff]/;

/** The head as it goes over the wire. Throws a GatehouseError where a header cannot be sent. */
export function serializeRequestHeaders(
  { path, method, headers, body }: OutgoingRequest,
  origin: Place,
): string {
  let target = origin.basePath + path;
  if (target === "" || target.startsWith("?")) target = `/${target}`;
  if (!TARGET.test(target)) target = encodeURI(target.toWellFormed());
  let head = `${method} ${target} HTTP/1.1\r\nHost: ${headers["host"] ?? origin.host}\r\n`;
  for (const name in headers) {
    const value = headers[name] ?? "";
    if (UNSENDABLE.test(value) || !TOKEN.test(name)) throw unsendable(name);
    if (!OURS.has(name)) head += `${name}: ${value}\r\n`;
  }
  if (body !== null) head += `Content-Length: ${body.byteLength}\r\n`;
  else if (method === "POST" || method === "PUT" || method === "PATCH") head += "Content-Length: 0\r\n";
  return `${head}\r\n`;
}

function unsendable(name: string): GatehouseError {
  const shown = JSON.stringify(name.slice(0, 100));
  return new GatehouseError(
    "bad_request",
    `The header ${shown} holds what a header cannot; it is not forwarded.`,
  );
}
