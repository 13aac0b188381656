// The request's body: read whole and bounded, parsed where it says it is JSON, and otherwise left alone.
import { GatehouseError } from "../base/errors.ts";
import { isJsonObject } from "../base/json.ts";
import { startReadingBody, type IncomingBody } from "../http/read-body.ts";
import type { CompiledGateway } from "../snapshot/compile.ts";
import type { CompiledRule } from "../snapshot/compiled-rule.ts";
import type { Exchange } from "./exchange.ts";

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;
const decoder = new TextDecoder("utf-8", { fatal: true });

export interface BodyNeeds {
  /** The model routing or a translation looks into JSON. */
  readonly json: boolean;
  /** A plugin looks into whatever it is. */
  readonly any: boolean;
}

export function bodyNeedsOf({ chain }: CompiledGateway, { upstream }: CompiledRule): BodyNeeds {
  return { json: upstream.readsBody, any: chain?.needsRequestBody === true };
}

/** Begins to read the body; null where the request has none. */
export function beginRequestBody({ request, method }: Exchange, maxBytes: number): IncomingBody | null {
  // The runtime hides the body of these, so it is their headers that tell.
  if ((method === "GET" || method === "HEAD") && announcesBody(request.headers)) {
    throw new GatehouseError("bad_request", `A ${method} request must not have a body.`);
  }
  return startReadingBody(request, maxBytes);
}

/** Takes the body that has come, parsed where it is JSON. */
export function takeRequestBody(exchange: Exchange, body: Uint8Array, needs: BodyNeeds): void {
  if (body.byteLength === 0) return;
  exchange.body = body;
  const { headers } = exchange.request;
  const isJson = isJsonType(headers.get("content-type"));
  const encoding = headers.get("content-encoding");
  if (encoding !== null && encoding.toLowerCase() !== "identity") {
    if (!needs.any && !(needs.json && isJson)) return;
    const sentence = `A body in ${encoding} cannot be read here; send it plain.`;
    throw new GatehouseError("unsupported_media_type", sentence);
  }
  exchange.isJson = isJson;
  setBody(exchange, body);
}

function isJsonType(type: string | null): boolean {
  return type === "application/json" || (type !== null && JSON_TYPE.test(type));
}

function announcesBody(headers: Headers): boolean {
  return headers.has("transfer-encoding") || Number(headers.get("content-length") ?? 0) > 0;
}

/** Takes a body, parsed anew where it is JSON. */
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
