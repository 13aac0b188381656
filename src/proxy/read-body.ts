// Reads the request body completely within its limit and puts it on the exchange.
import type { ReadableFields } from "../base/readable-fields.ts";
import { GatehouseError } from "../base/errors.ts";
import { isPromise, type ValueOrPromise } from "../base/value-or-promise.ts";
import type { BodyLimits, IncomingBody } from "../http/incoming-body.ts";
import type { OffLoop } from "../off-loop/off-loop.ts";
import { idsInRequest } from "../formats/stored-ids.ts";
import type { CompiledUpstream } from "../snapshot/compile-upstream.ts";
import type { CompiledRule } from "../snapshot/compiled-rule.ts";
import type { Exchange } from "./exchange.ts";
import { isMultipart } from "./form-model.ts";
import { RequestBody } from "./request-body.ts";
import { scanBody } from "./scan-body.ts";

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

/** Limits of bodies. Forms that upload files, such as audio, may be larger than other bodies. */
export interface UploadLimits extends BodyLimits {
  readonly maxUploadBytes: number;
}

const UPLOAD_PATH = /\/(?:files|audio\/(?:transcriptions|translations)|images\/(?:edits|variations))$/;

/** A plugin gets no body that is larger than MAX_BODY_BYTES. */
export function bodyLimitsFor(
  { request, method, path, gateway }: Exchange,
  limits: UploadLimits,
): BodyLimits {
  if (method !== "POST" || !UPLOAD_PATH.test(path) || gateway?.chain?.needsRequestBody === true)
    return limits;
  const type = request.headers.get("content-type");
  if (type === null || !isMultipart(type)) return limits;
  const { deadlines, bodyBudget, maxUploadBytes, maxBodyBytes } = limits;
  return maxUploadBytes <= maxBodyBytes
    ? limits
    : { deadlines, bodyBudget, maxBodyBytes: maxUploadBytes, sizeSetting: "MAX_UPLOAD_BYTES" };
}

/** Starts to read the body; returns null if the request has none. */
export function startRequestBody({ request, method }: Exchange, limits: BodyLimits): IncomingBody | null {
  if ((method === "GET" || method === "HEAD") && announcesBody(request.headers)) {
    throw new GatehouseError("bad_request", `A ${method} request must not have a body.`);
  }
  return request.readBody(limits);
}

/** Puts the body on the exchange. */
export function takeRequestBody(
  exchange: Exchange,
  bytes: Uint8Array,
  rule: CompiledRule,
  offLoop: OffLoop,
): ValueOrPromise<void> {
  if (bytes.byteLength === 0) return undefined;
  const { headers } = exchange.request;
  const type = headers.get("content-type");
  const isJson = isJsonType(type);
  const encoding = headers.get("content-encoding");
  if (encoding !== null && encoding.toLowerCase() !== "identity") {
    if (readsBody(exchange, rule, isJson)) {
      throw new GatehouseError(
        "unsupported_media_type",
        `This gateway reads the request body and cannot decode Content-Encoding "${encoding}". Send the body without it.`,
      );
    }
    exchange.setBody(RequestBody.scan({ bytes, isJson: false, contentType: null, isTraced: false }));
    return undefined;
  }
  const contentType = rule.upstream.readsBody || checksModel(exchange) ? (type ?? "") : null;
  const body = scanBody({ bytes, isJson, contentType, isTraced: exchange.trace !== null }, offLoop);
  if (isPromise(body)) return body.then((scanned) => exchange.setBody(scanned));
  exchange.setBody(body);
  return undefined;
}

/**
 * Plugins may read any body, and so does the check of the models of an API key. Model routing reads any body where it is
 * required, else it and format translation only JSON. Ids of stored objects are searched in any body.
 */
function readsBody(exchange: Exchange, { upstream }: CompiledRule, isJson: boolean): boolean {
  if (exchange.gateway?.chain?.needsRequestBody === true || checksModel(exchange)) return true;
  return upstream.requiresModel || (upstream.readsBody && isJson) || mayHaveIds(exchange, upstream);
}

/** Whether ids of stored objects in the body have to be opened. */
function mayHaveIds({ endpoint }: Exchange, { hasEndpoints }: CompiledUpstream): boolean {
  return hasEndpoints && endpoint !== null && idsInRequest(endpoint.operation) !== null;
}

function checksModel({ apiKey }: Exchange): boolean {
  return apiKey !== null && apiKey.models !== null;
}

function isJsonType(type: string | null): boolean {
  return type === "application/json" || (type !== null && JSON_TYPE.test(type));
}

function announcesBody(headers: ReadableFields): boolean {
  return headers.has("transfer-encoding") || Number(headers.get("content-length") ?? 0) > 0;
}
