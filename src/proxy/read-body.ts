// The request body: read completely within MAX_BODY_BYTES, and parsed if its content type is JSON.
import { GatehouseError } from "../base/errors.ts";
import { isJsonObject } from "../base/json.ts";
import { startReadingBody, type IncomingBody } from "../http/read-body.ts";
import type { CompiledRule } from "../snapshot/compiled-rule.ts";
import type { Exchange } from "./exchange.ts";

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;
const decoder = new TextDecoder("utf-8", { fatal: true });

/** Starts to read the body; returns null if the request has none. */
export function startRequestBody({ request, method }: Exchange, maxBytes: number): IncomingBody | null {
  // Bun hides the body of these methods, so only the header fields show that there is one.
  if ((method === "GET" || method === "HEAD") && announcesBody(request.headers)) {
    throw new GatehouseError("bad_request", `A ${method} request must not have a body.`);
  }
  return startReadingBody(request, maxBytes);
}

/** Puts the body on the exchange, parsed if it is JSON. */
export function takeRequestBody(exchange: Exchange, body: Uint8Array, rule: CompiledRule): void {
  if (body.byteLength === 0) return;
  exchange.body = body;
  const { headers } = exchange.request;
  const isJson = isJsonType(headers.get("content-type"));
  const encoding = headers.get("content-encoding");
  if (encoding !== null && encoding.toLowerCase() !== "identity") {
    if (!readsBody(exchange, rule, isJson)) return;
    throw new GatehouseError(
      "unsupported_media_type",
      `This gateway reads the request body and cannot decode Content-Encoding "${encoding}". Send the body without it.`,
    );
  }
  exchange.isJson = isJson;
  setBody(exchange, body);
}

/** Plugins may read any body; model routing and format translation read only JSON. */
function readsBody({ gateway }: Exchange, { upstream }: CompiledRule, isJson: boolean): boolean {
  return gateway?.chain?.needsRequestBody === true || (upstream.readsBody && isJson);
}

function isJsonType(type: string | null): boolean {
  return type === "application/json" || (type !== null && JSON_TYPE.test(type));
}

function announcesBody(headers: Headers): boolean {
  return headers.has("transfer-encoding") || Number(headers.get("content-length") ?? 0) > 0;
}

/** Replaces the body and everything that is derived from it. Throws if it should be JSON and is not. */
export function setBody(exchange: Exchange, body: Uint8Array): void {
  exchange.body = body;
  exchange.bodyText = null;
  exchange.json = null;
  exchange.model = null;
  exchange.wantsStream = false;
  if (!exchange.isJson) return;
  let value: unknown;
  try {
    exchange.bodyText = decoder.decode(body);
    value = JSON.parse(exchange.bodyText);
  } catch (cause) {
    throw new GatehouseError("invalid_json", "The body is not valid JSON in UTF-8.", { cause });
  }
  if (!isJsonObject(value)) return;
  exchange.json = value;
  exchange.wantsStream = value["stream"] === true;
  const { model } = value;
  if (typeof model === "string" && model !== "") exchange.model = model;
}
