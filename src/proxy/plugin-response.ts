// What a plugin answers instead of a provider, as a response; and what it may put into a header.
import type { PluginResponse } from "../sdk/index.ts";
import type { Exchange } from "./exchange.ts";

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const LINE_BREAK = /[\r\n\0]/;
const MAX_CODE = 64;

/** Names that were found good, in lower case: plugins set the same few with every request. */
const goodNames = new Map<string, string>();
const MAX_GOOD_NAMES = 1000;

export function checkName(name: string): string {
  const known = goodNames.get(name);
  if (known !== undefined) return known;
  if (!NAME.test(name)) throw new Error(`"${name}" is not a header name`);
  const lower = name.toLowerCase();
  if (goodNames.size < MAX_GOOD_NAMES) goodNames.set(name, lower);
  return lower;
}

export function checkValue(value: string): string {
  if (typeof value !== "string" || LINE_BREAK.test(value))
    throw new Error("a header value is a string in one line");
  return value;
}

/** What a plugin answered, as a response. An error of its own gets the request id like any other. */
export function pluginResponse(
  { status, headers = {}, body }: PluginResponse,
  exchange: Exchange,
  maxBytes: number,
): Response {
  const answered = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    checkName(name);
    answered.set(name, checkValue(value));
  }
  exchange.addResponseHeaders(answered);
  answered.set("X-Request-Id", exchange.requestId);
  if (status >= 400) exchange.errorCode = codeIn(body) ?? "plugin_answered";
  if (body === undefined) return new Response(null, { status, headers: answered });
  const isPlain = typeof body === "string" || body instanceof Uint8Array;
  const sent = isPlain ? body : asJson(body, exchange.requestId);
  if (Buffer.byteLength(sent) > maxBytes) throw new Error(`an answer has at most ${maxBytes} bytes`);
  if (!isPlain && !answered.has("content-type")) answered.set("Content-Type", "application/json");
  return new Response(sent, { status, headers: answered });
}

function asJson(body: unknown, requestId: string): string {
  const isError = typeof body === "object" && body !== null && "error" in body && !("request_id" in body);
  const text = JSON.stringify(isError ? { ...body, request_id: requestId } : body) as string | undefined;
  if (text === undefined) throw new Error("an answer's body is a string, bytes or JSON");
  return text;
}

/** What a plugin calls its error, if it speaks the one error shape. */
function codeIn(body: unknown): string | null {
  if (typeof body !== "object" || body === null || !("code" in body)) return null;
  return typeof body.code === "string" ? body.code.slice(0, MAX_CODE) : null;
}
