// Converts the response of a plugin, which replaces a provider's response, to an OutgoingResponse.
import { checkedValue, HeaderFields } from "../http/header-fields.ts";
import { OutgoingResponse } from "../http/server/outgoing-response.ts";
import type { PluginResponse } from "../sdk/index.ts";
import { inErrorFormat, isErrorBody } from "./error-format.ts";
import type { Exchange } from "./exchange.ts";
import { checkHeaderName, checkHeaderValue, checkSize } from "./plugin-values.ts";

const MAX_CODE_LENGTH = 64;
const NO_HEADERS: Readonly<Record<string, string>> = {};

/** Sets the exchange's error code if the plugin responds with an error. */
export function createPluginResponse(
  { status, headers: given = {}, body }: PluginResponse,
  exchange: Exchange,
  maxBytes: number,
): OutgoingResponse {
  const headers = new HeaderFields();
  for (const [name, value] of Object.entries(given)) {
    checkHeaderName(name);
    headers.set(name, checkHeaderValue(value));
  }
  exchange.addResponseHeaders(headers);
  headers.set("X-Request-Id", exchange.requestId);
  headers.set("Request-Id", exchange.requestId);
  if (status >= 400) exchange.errorCode = codeOf(body, status);
  if (body === undefined) return new OutgoingResponse(null, { status, headers });
  const isRaw = typeof body === "string" || body instanceof Uint8Array;
  const content = contentOf(body, status, exchange);
  checkSize("a response body", Buffer.byteLength(content), maxBytes);
  if (!isRaw && !headers.has("content-type")) headers.set("Content-Type", "application/json");
  else if (typeof body === "string" && !headers.has("content-type"))
    headers.set("Content-Type", "text/plain;charset=utf-8");
  return new OutgoingResponse(content, { status, headers });
}

/**
 * Checks the response of a plugin in shadow mode, which is not sent. Throws as `createPluginResponse` does. Returns the code of the error;
 * null if it is none.
 */
export function checkPluginResponse(
  { status, headers = NO_HEADERS, body }: PluginResponse,
  exchange: Exchange,
  maxBytes: number,
): string | null {
  for (const name of Object.keys(headers)) {
    checkHeaderName(name);
    checkedValue(name, checkHeaderValue(headers[name] ?? ""));
  }
  if (body !== undefined)
    checkSize("a response body", Buffer.byteLength(contentOf(body, status, exchange)), maxBytes);
  return codeOf(body, status);
}

/** A string or bytes are sent unchanged. */
function contentOf(body: unknown, status: number, exchange: Exchange): string | Uint8Array {
  if (typeof body === "string" || body instanceof Uint8Array) return body;
  return toJson(inSelectedFormat(body, status, exchange));
}

function codeOf(body: unknown, status: number): string | null {
  return status >= 400 ? (codeIn(body) ?? "plugin_answered") : null;
}

function toJson(body: unknown): string {
  const text: string | undefined = JSON.stringify(body);
  if (text === undefined)
    throw new Error(`a response body must be a string, a Uint8Array, or JSON, got ${typeof body}`);
  return text;
}

/** Adds the request id to an error body, as the gateway's own errors have it, and writes the body in the selected error format. */
function inSelectedFormat(body: unknown, status: number, exchange: Exchange): unknown {
  if (status >= 400 && isErrorBody(body))
    return inErrorFormat({ request_id: exchange.requestId, ...body }, status, exchange);
  const isError = typeof body === "object" && body !== null && "error" in body && !("request_id" in body);
  return isError ? { ...body, request_id: exchange.requestId } : body;
}

/** Returns the `code` of a body in the gateway's error format. */
function codeIn(body: unknown): string | null {
  if (typeof body !== "object" || body === null || !("code" in body)) return null;
  return typeof body.code === "string" ? body.code.slice(0, MAX_CODE_LENGTH) : null;
}
