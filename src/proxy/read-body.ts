// The request's body: read whole and bounded, parsed where it says it is JSON, and otherwise left alone.
import { GatehouseError } from "../base/errors.ts";
import { isJsonObject } from "../base/json.ts";
import { readBody } from "../base/read-body.ts";
import type { Exchange } from "./exchange.ts";

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;
const decoder = new TextDecoder("utf-8", { fatal: true });

/** `mustRead`: the model routing or a translation needs to look into it. */
export async function readRequestBody(
  exchange: Exchange,
  maxBytes: number,
  mustRead: boolean,
): Promise<void> {
  const { request } = exchange;
  const { method } = exchange;
  // The runtime hides the body of these, so it is their headers that tell.
  if ((method === "GET" || method === "HEAD") && announcesBody(request.headers)) {
    throw new GatehouseError("bad_request", `A ${method} request must not have a body.`);
  }
  if (request.body === null) return;
  const body = await readBody(request, maxBytes);
  if (body.byteLength === 0) return;
  exchange.body = body;
  if (!JSON_TYPE.test(request.headers.get("content-type") ?? "")) return;
  const encoding = request.headers.get("content-encoding");
  if (encoding !== null && encoding.toLowerCase() !== "identity") {
    if (!mustRead) return;
    throw new GatehouseError(
      "unsupported_media_type",
      `A body in ${encoding} cannot be read here; send it plain.`,
    );
  }
  parseBody(exchange, body);
}

function announcesBody(headers: Headers): boolean {
  return headers.has("transfer-encoding") || Number(headers.get("content-length") ?? 0) > 0;
}

function parseBody(exchange: Exchange, body: Uint8Array): void {
  let text: string;
  let value: unknown;
  try {
    text = decoder.decode(body);
    value = JSON.parse(text);
  } catch (cause) {
    throw new GatehouseError("invalid_json", "The body is not valid JSON in UTF-8.", { cause });
  }
  if (!isJsonObject(value)) return;
  exchange.bodyText = text;
  exchange.json = value;
  const { model } = value;
  if (typeof model === "string" && model !== "") exchange.model = model;
}
