// Converts the response of a plugin, which replaces a provider's response, to a Response.
import type { PluginResponse } from "../sdk/index.ts";
import type { Exchange } from "./exchange.ts";
import { checkHeaderName, checkHeaderValue, checkSize } from "./plugin-values.ts";

const MAX_CODE_LENGTH = 64;

/** Sets the exchange's error code if the plugin responds with an error. */
export function createPluginResponse(
  { status, headers: given = {}, body }: PluginResponse,
  exchange: Exchange,
  maxBytes: number,
): Response {
  const headers = new Headers();
  for (const [name, value] of Object.entries(given)) {
    checkHeaderName(name);
    headers.set(name, checkHeaderValue(value));
  }
  exchange.addResponseHeaders(headers);
  headers.set("X-Request-Id", exchange.requestId);
  if (status >= 400) exchange.errorCode = codeIn(body) ?? "plugin_answered";
  if (body === undefined) return new Response(null, { status, headers });
  const isRaw = typeof body === "string" || body instanceof Uint8Array;
  const content = isRaw ? body : toJson(body, exchange.requestId);
  checkSize("a response body", Buffer.byteLength(content), maxBytes);
  if (!isRaw && !headers.has("content-type")) headers.set("Content-Type", "application/json");
  return new Response(content, { status, headers });
}

/** Adds the request id to an error body, as the gateway's own errors have it. */
function toJson(body: unknown, requestId: string): string {
  const isError = typeof body === "object" && body !== null && "error" in body && !("request_id" in body);
  const text: string | undefined = JSON.stringify(isError ? { ...body, request_id: requestId } : body);
  if (text === undefined)
    throw new Error(`a response body must be a string, a Uint8Array, or JSON, got ${typeof body}`);
  return text;
}

/** Returns the `code` of a body in the gateway's error format. */
function codeIn(body: unknown): string | null {
  if (typeof body !== "object" || body === null || !("code" in body)) return null;
  return typeof body.code === "string" ? body.code.slice(0, MAX_CODE_LENGTH) : null;
}
