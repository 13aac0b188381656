// Reads the request body completely within its limit and puts it on the exchange, unless it can be forwarded while it arrives.
import type { ReadableFields } from "../base/readable-fields.ts";
import { GatehouseError } from "../base/errors.ts";
import { isPromise, type ValueOrPromise } from "../base/value-or-promise.ts";
import type { BodyLimits } from "../http/incoming-body.ts";
import { isJsonType, isMultipart } from "../http/media-type.ts";
import type { OffLoop } from "../off-loop/off-loop.ts";
import { idsInRequest } from "../formats/stored-ids.ts";
import type { CompiledRule } from "../snapshot/compiled-rule.ts";
import { usesForwardProxy } from "../upstream/forward-proxy.ts";
import type { Exchange } from "./exchange.ts";
import { mayBeObject } from "./budgets/request-size.ts";
import { operationWithIds } from "./operation.ts";
import { RequestBody, type BodyFields } from "./request-body.ts";
import { scanBody } from "./scan-body.ts";
import { mayContainEncodedIds } from "./stored-ids/encoded-ids.ts";

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
  if (!isMultipart(type)) return limits;
  const { deadlines, bodyBudget, maxUploadBytes, maxBodyBytes } = limits;
  return maxUploadBytes <= maxBodyBytes
    ? limits
    : { deadlines, bodyBudget, maxBodyBytes: maxUploadBytes, sizeSetting: "MAX_UPLOAD_BYTES" };
}

/** Larger bodies are forwarded while they arrive if nothing reads them. Smaller ones stay in memory, so that they can be retried. */
const MAX_COLLECTED_BYTES = 1024 * 1024;

/** Starts to read the body, or leaves it to the upstream attempt to forward it. */
export function startRequestBody(exchange: Exchange, rule: CompiledRule, limits: BodyLimits): void {
  const { request, method } = exchange;
  if ((method === "GET" || method === "HEAD") && announcesBody(request.headers)) {
    throw new GatehouseError("bad_request", `A ${method} request must not have a body.`);
  }
  if ((request.arrivingLength ?? 0) > MAX_COLLECTED_BYTES && !needsWholeBody(exchange, rule))
    exchange.upload = request.forwardBody?.(limits) ?? null;
  if (exchange.upload === null) exchange.incomingBody = request.readBody(limits);
}

/** Whether something reads the body, or sends it in another way than over a connection of the pool. */
function needsWholeBody(exchange: Exchange, rule: CompiledRule): boolean {
  const { upstream } = rule;
  const { request, gateway, endpoint, bodies } = exchange;
  const type = request.headers.get("content-type");
  if (isJsonType(type) || bodies !== null || mayNameVirtualModel(exchange, rule)) return true;
  if (gateway?.chain?.needsRequestBody === true || checksModel(exchange)) return true;
  if (rule.guards?.readsForms === true) return true;
  if (upstream.readsBody || upstream.requiresModel || mayHaveIds(exchange, rule)) return true;
  // The fields of a request with a model in its path are those of its body with this model.
  if (endpoint !== null && endpoint.model !== null) return true;
  // A computed credential may be a signature of the body.
  return upstream.targets.some(({ credential, baseUrl }) => credential !== null || usesForwardProxy(baseUrl));
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
    return takeEncodedBody(exchange, { bytes, encoding, isJson }, rule);
  }
  const isRead =
    rule.upstream.readsBody ||
    checksModel(exchange) ||
    hasLimitsOfModels(exchange) ||
    mayNameVirtualModel(exchange, rule) ||
    // The price depends on the model.
    (!isJson && mayNameModel(exchange) && (isMultipart(type) || mayBeObject(bytes)));
  const isApi = !isJson && isApiRequest(exchange, rule);
  const isUndeclaredJson = isApi && mayBeObject(bytes);
  const contentType = isUndeclaredJson ? "" : isRead ? (type ?? "") : null;
  const source = { bytes, isJson, contentType, isTraced: exchange.trace !== null };
  const scanned = scanBody(source, offLoop, sendsBodyAsItIs(exchange));
  const checked = (read: RequestBody): ValueOrPromise<RequestBody> => {
    if (isApi && rule.upstream.readsBody) requireKnownModel(read.fields);
    if (isUndeclaredJson && read.fields.modelProblem === null) return asJson(read, offLoop);
    return asJsonOfVirtualModel(read, exchange, rule, offLoop);
  };
  const body = isPromise(scanned) ? scanned.then(checked) : checked(scanned);
  if (isPromise(body)) return setScannedBody(exchange, body);
  exchange.setBody(body);
  return undefined;
}

async function setScannedBody(exchange: Exchange, body: Promise<RequestBody>): Promise<void> {
  exchange.setBody(await body);
}

/**
 * Whether the request is for an endpoint of a provider's API. A body that starts as JSON does is JSON there,
 * whatever its content type: the model decides about target and format. Files to store keep their type.
 */
function isApiRequest({ method, endpoint }: Exchange, { upstream, pathKind }: CompiledRule): boolean {
  if (method !== "POST" || !upstream.hasEndpoints) return false;
  return endpoint === null ? pathKind !== "prefix" : endpoint.operation !== "files";
}

/** Throws if a server may read a model in the body that the gateway does not know. */
function requireKnownModel({ modelProblem }: BodyFields): void {
  if (modelProblem?.mayNameModel === true) throw new GatehouseError(modelProblem.code, modelProblem.message);
}

/**
 * JSON with another content type is forwarded unchanged, unless it names a virtual model: then it is read as JSON, so that no
 * content type leads past the virtual model. Throws if another body may name one where the gateway cannot read it, as for a compressed body.
 */
function asJsonOfVirtualModel(
  body: RequestBody,
  exchange: Exchange,
  rule: CompiledRule,
  offLoop: OffLoop,
): ValueOrPromise<RequestBody> {
  const { virtualModels } = rule;
  if (virtualModels === null) return body;
  const { isJson, fields } = body;
  const { model, formModel, modelProblem } = fields;
  if (model !== null && virtualModels.chainOf(model) !== null)
    return isJson || formModel !== null ? body : asJson(body, offLoop);
  const isUnknown = modelProblem !== null && modelProblem.mayNameModel;
  if (!isUnknown || !mayNameVirtualModel(exchange, rule)) return body;
  throw new GatehouseError(modelProblem.code, modelProblem.message);
}

function asJson({ bytes, isTraced }: RequestBody, offLoop: OffLoop): ValueOrPromise<RequestBody> {
  return scanBody({ bytes, isJson: true, contentType: null, isTraced }, offLoop);
}

/** Whether the body that final_request hooks see is that of the client: no other plugin runs before them. */
function sendsBodyAsItIs({ gateway }: Exchange): boolean {
  const chain = gateway?.chain ?? null;
  if (chain === null || chain.finalRequest === null) return false;
  return chain.finalRequest.length === chain.pre_request?.length;
}

interface EncodedBody {
  readonly bytes: Uint8Array;
  readonly encoding: string;
  readonly isJson: boolean;
}

/** An encoded body stays as it is. It is rejected if something reads it, or if it may contain ids of stored objects. */
function takeEncodedBody(
  exchange: Exchange,
  { bytes, encoding, isJson }: EncodedBody,
  rule: CompiledRule,
): ValueOrPromise<void> {
  const isKnown = exchange.endpoint !== null;
  const hasIds = mayHaveIds(exchange, rule);
  const isRead = readsBody(exchange, rule, isJson) || mayNameVirtualModel(exchange, rule);
  if (isRead || (isKnown && hasIds)) throw unsupportedEncoding(encoding);
  const body = RequestBody.scan({ bytes, isJson: false, contentType: null, isTraced: false });
  if (!hasIds) {
    exchange.setBody(body);
    return undefined;
  }
  const searched = { bytes, operation: operationWithIds(exchange, rule) };
  return mayContainEncodedIds(searched, encoding).then((mayContain) => {
    if (mayContain) throw unsupportedEncoding(encoding);
    exchange.setBody(body);
  });
}

function unsupportedEncoding(encoding: string): GatehouseError {
  return new GatehouseError(
    "unsupported_media_type",
    `This gateway reads the request body and cannot decode Content-Encoding "${encoding}". Send the body without it.`,
  );
}

/**
 * Plugins may read any body, and so do budgets and the check of the models of an API key. Model routing reads any body where it is
 * required and at the endpoints of providers, else it and format translation only JSON.
 */
function readsBody(exchange: Exchange, rule: CompiledRule, isJson: boolean): boolean {
  const { upstream } = rule;
  if (exchange.gateway?.chain?.needsRequestBody === true || checksModel(exchange)) return true;
  if (upstream.requiresModel || (upstream.readsBody && isApiRequest(exchange, rule))) return true;
  return (upstream.readsBody || rule.virtualModels !== null) && isJson;
}

/** Whether the body may have the name of a virtual model although it is not declared as JSON. */
function mayNameVirtualModel(exchange: Exchange, { virtualModels }: CompiledRule): boolean {
  return virtualModels !== null && mayNameModel(exchange);
}

/** Whether the body may name a model although it is not declared as JSON. Files to store have none. */
function mayNameModel({ path, method }: Exchange): boolean {
  return method === "POST" && !path.endsWith("/files");
}

/** Whether ids of stored objects in the body have to be opened. */
function mayHaveIds(exchange: Exchange, rule: CompiledRule): boolean {
  return rule.upstream.hasEndpoints && idsInRequest(operationWithIds(exchange, rule)) !== null;
}

/**
 * Whether the model of any body matters: to the allowed models of the API key, to budgets, which need its price, or to limits of requests per
 * model.
 */
function checksModel({ apiKey, gateway }: Exchange): boolean {
  if (apiKey !== null && apiKey.models !== null) return true;
  return gateway !== null && (gateway.budgets !== null || gateway.chain?.readsModel === true);
}

/** Whether a plugin may have limits for some models. */
function hasLimitsOfModels({ gateway }: Exchange): boolean {
  const chain = gateway?.chain ?? null;
  return chain !== null && chain.limiters !== null && chain.needsRequestBody;
}

function announcesBody(headers: ReadableFields): boolean {
  return headers.has("transfer-encoding") || Number(headers.get("content-length") ?? 0) > 0;
}
