// Builds the request to a target from the client's request: URL, headers, model, and wire format.
import { GatehouseError } from "../base/errors.ts";
import { hasLongNumbers, parseExact } from "../base/exact-json.ts";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { spliceTopLevelString } from "../base/json-splice.ts";
import type { ContentReader } from "../formats/content-reader.ts";
import type { Format } from "../formats/format.ts";
import type { DetailsReader } from "../formats/response-details.ts";
import type { OpeningOf } from "../formats/stream-opening.ts";
import type { TextReader } from "../formats/text-channels.ts";
import { endpointIn } from "../formats/operations.ts";
import { NO_CONTEXT } from "../formats/translator.ts";
import type { UsageReader } from "../formats/usage-reader.ts";
import { isJsonType } from "../http/media-type.ts";
import type { CompiledTarget } from "../snapshot/compile-upstream.ts";
import type { CompiledRule } from "../snapshot/compiled-rule.ts";
import type { TranslationFacts } from "../telemetry/requests/request-facts.ts";
import type { OutgoingRequest } from "../upstream/outgoing-request.ts";
import { withSummary, withUsageOption, type Addition } from "./additions.ts";
import { clientCredentials, credentialHash } from "./client-credential.ts";
import type { Exchange } from "./exchange.ts";
import { withFormModel, type FormModel } from "./form-model.ts";
import { forwardedHeaders } from "./header-filter.ts";
import type { OwnCredentials } from "./own-credentials.ts";
import { modelFor, sentModel } from "./model-for.ts";
import { onlyModelInUrl } from "./named-models.ts";
import { takesDefaultModel } from "./operation.ts";
import type { RequestBody } from "./request-body.ts";
import { endpointAt, type RequestEndpoint } from "./request-endpoint.ts";
import { bodyRuleOf, type BodyRule } from "./texts/text-form.ts";
import { translateRequest, type TranslatedRequest, type TranslationTask } from "./translate-request.ts";
import type { ResponseTranslation } from "./response-translation.ts";
import type { IdSeal } from "./stored-ids/id-seal.ts";
import { responseIdsFor } from "./stored-ids/response-ids-for.ts";
import type { ResponseIds } from "./stored-ids/response-ids.ts";

export interface EncodedRequest extends OutgoingRequest {
  readonly headers: Record<string, string>;
  /**
   * The field that the gateway added to the body on its own, and the target may reject; null if there is
   * none.
   */
  readonly addition: Addition | null;
  /** A chat completion. Its response counts as usage even if it reports no tokens. */
  readonly isChat: boolean;
  /** The model that is sent to the target, if any. */
  readonly model: string | null;
  /** Null if the response is relayed in the target's format. */
  readonly translation: ResponseTranslation | null;
  /** Seals the ids of stored objects in the response; null if it contains none. */
  readonly ids: ResponseIds | null;
  /** Fields of the request that the target's format cannot express. */
  readonly dropped: readonly string[];
  /** For telemetry; null if nothing is translated. */
  readonly translationFacts: TranslationFacts | null;
  /** The gateway reads the response body, so the target must not compress it. */
  readonly readsResponse: boolean;
  readonly usageReader: UsageReader;
  readonly detailsReader: DetailsReader;
  /** Says what the first events of the target's stream mean. */
  readonly openingOf: OpeningOf;
  /** Recognizes bodies in the target's format that the provider's content filter has emptied. */
  readonly isFiltered: Format["isFiltered"];
  /** A response that is no stream is read completely before any of it is relayed. */
  readonly readsWhole: boolean;
  /** For the format in which the response is relayed. */
  readonly contentReader: ContentReader;
  /** For the same format. */
  readonly textReader: TextReader;
  /** What the body of a response with a successful status may be. */
  readonly bodyRule: BodyRule;
}

export interface EncodeParts {
  readonly ownCredentials: OwnCredentials;
  readonly idSeal: IdSeal;
}

export function encodeRequest(
  exchange: Exchange,
  rule: CompiledRule,
  target: CompiledTarget,
  { ownCredentials, idSeal }: EncodeParts,
): EncodedRequest {
  const { fields } = exchange;
  const endpoint = endpointAt(exchange, rule, target);
  const { path, format } = endpoint;
  const { body: own, model: modelOfBody, translated } = encodeBody(exchange, rule, endpoint, target);
  const model = modelOfBody ?? (own === null ? null : onlyModelInUrl(exchange, rule, target));
  // The response to a copy is discarded, after its usage was read.
  const isCopy = exchange.mirrorOf !== null;
  const translation = isCopy ? null : translationFor(exchange, endpoint, translated);
  const ids = translation === null && !isCopy ? responseIdsFor(exchange, target, idSeal) : null;
  const readsResponse =
    translation !== null ||
    ids !== null ||
    isCopy ||
    exchange.recording !== null ||
    (exchange.gateway?.chain?.pre_response ?? null) !== null ||
    (fields.wantsStream && readsOpening(rule)) ||
    readsFilter(exchange);
  const isChat = exchange.method === "POST" && fields.isObject && format.isChatPath(path);
  const isUntranslated = translated === null || translated.bytes === null;
  const { body, dropped, addition } =
    isChat && own !== null && isUntranslated
      ? withUsageOption(own, translated, format, exchange, target)
      : withSummary(own, translated, format, exchange, target);
  const headers = headersFor(exchange, rule, target, endpoint, ownCredentials, readsResponse);
  const query = endpoint.query ?? ownCredentials.removeFromQuery(exchange.sentQuery);
  const clientCredential = target.hasCredential ? null : credentialHash(headers, query);
  return {
    baseUrl: target.baseUrl,
    poolKey: clientCredential === null ? target.poolKey : `${target.poolKey}:${clientCredential}`,
    usesClientCredential: clientCredential !== null,
    credential: target.credential,
    path: path + query,
    method: exchange.method,
    headers,
    body,
    upload: exchange.upload,
    addition,
    isChat,
    model,
    translation,
    ids,
    dropped,
    translationFacts: translationFactsOf(endpoint, translated, translation, dropped),
    readsResponse,
    openingOf: format.openingOf,
    isFiltered: format.isFiltered,
    readsWhole: isChat && readsFilter(exchange),
    usageReader: format.usage,
    detailsReader: format.details,
    contentReader: (translation === null ? format : translation.to).content,
    textReader: (translation === null ? format : translation.to).texts,
    bodyRule: isChat ? "format" : bodyRuleOf(exchange.endpoint ?? endpointIn(path), rule.rule.unguarded),
  };
}

/** Whether the first events of every stream are read. */
function readsOpening({ upstream }: CompiledRule): boolean {
  return upstream.commit !== null || upstream.hedge !== null || upstream.timeouts.first_content !== null;
}

/** Whether a response that the provider's content filter has emptied makes another virtual model serve the request. */
export function readsFilter({ route }: Exchange): boolean {
  return route !== null && route.mayFallBackOn("content_filter");
}

function headersFor(
  { request, sentHeaders, body }: Exchange,
  { rule }: CompiledRule,
  target: CompiledTarget,
  { format, requestFormat }: RequestEndpoint,
  ownCredentials: OwnCredentials,
  readsResponse: boolean,
): Record<string, string> {
  const headers =
    sentHeaders === null ? forwardedHeaders(request.headers, ownCredentials) : { ...sentHeaders };
  if (requestFormat !== null) removeOwnHeaders(headers, requestFormat);
  // At the endpoints of providers, JSON is read as such whatever the client declares.
  if (body?.isJson === true && target.endpoints !== null && !isJsonType(headers["content-type"] ?? null))
    headers["content-type"] = "application/json";
  // Without Accept-Encoding the target may use any encoding (RFC 9110, 12.5.3), also one that the client cannot decode.
  if (readsResponse || headers["accept-encoding"] === undefined) headers["accept-encoding"] = "identity";
  headers["user-agent"] ??= "gatehouse";
  if (!target.hasCredential)
    for (const [name, value] of clientCredentials(request.headers, ownCredentials)) headers[name] = value;
  for (const [name, value] of target.headers) headers[name] = value;
  for (const [name, value] of format.requiredHeaders) headers[name] ??= value;
  const host = rule.preserve_host ? request.headers.get("host") : null;
  if (host !== null) headers["host"] = host;
  return headers;
}

/** Removes the headers that only servers of the client's format understand. */
function removeOwnHeaders(headers: Record<string, string>, { ownHeaderPrefix }: Format): void {
  if (ownHeaderPrefix === null) return;
  for (const name of Object.keys(headers))
    if (name.startsWith(ownHeaderPrefix)) Reflect.deleteProperty(headers, name);
}

interface EncodedBody {
  readonly body: Uint8Array | null;
  readonly model: string | null;
  /** Null if nothing had to be translated. */
  readonly translated: TranslatedRequest | null;
}

function encodeBody(
  exchange: Exchange,
  rule: CompiledRule,
  endpoint: RequestEndpoint,
  target: CompiledTarget,
): EncodedBody {
  const { body, fields } = exchange;
  if (body === null || !fields.isObject) {
    if (endpoint.requestFormat !== null) throw notTranslatable(endpoint);
    if (body !== null && body.fields.formModel !== null)
      return encodeForm(body, body.fields.formModel, sentModel(fields, target));
    return { body: body?.bytes ?? null, model: exchange.endpoint?.model ?? fields.model, translated: null };
  }
  if (fields.model === null && !takesDefaultModel(exchange, rule, target))
    return { body: body.bytes, model: null, translated: null };
  const model = modelFor(fields, target);
  const task = taskFor(endpoint, target, model);
  const translated = task === null ? null : translatedBody(exchange, body, task);
  if (translated === null && isModelInPath(exchange)) return { body: body.bytes, model, translated };
  return { body: translated?.bytes ?? withModel(body, model), model, translated };
}

/** Replaces the name of a virtual model in a multipart form. */
function encodeForm(body: RequestBody, formModel: FormModel, model: string | null): EncodedBody {
  const { bytes, contentType, fields } = body;
  const isUnchanged = model === null || model === fields.model;
  const sent = isUnchanged ? bytes : withFormModel(bytes, contentType ?? "", formModel, model);
  return { body: sent, model, translated: null };
}

function isModelInPath({ endpoint }: Exchange): boolean {
  return endpoint !== null && endpoint.model !== null;
}

function withModel(body: RequestBody, model: string | null): Uint8Array {
  if (model === null || model === body.fields.model) return body.bytes;
  return Buffer.from(spliceTopLevelString(body.text ?? "", "model", model));
}

function translatedBody(exchange: Exchange, body: RequestBody, task: TranslationTask): TranslatedRequest {
  const prepared = exchange.translations?.get(task);
  if (prepared !== undefined) return prepared;
  const startedAt = exchange.clock.now();
  const translated = translateRequest(exactJsonOf(body), task);
  if (translated.bytes !== null) exchange.translateMs += exchange.clock.now() - startedAt;
  return translated;
}

/** The input of tool calls in messages may have 64-bit ids. */
function exactJsonOf(body: RequestBody): JsonObject {
  const { text } = body;
  const exact = text !== null && hasLongNumbers(text) ? parseExact(text) : body.json;
  return isJsonObject(exact) ? exact : {};
}

/** Returns the translation that the endpoint needs; null if the request is forwarded as it is. */
export function taskFor(
  { requestFormat, pathNamesFormat, format }: RequestEndpoint,
  { tag }: CompiledTarget,
  model: string | null,
): TranslationTask | null {
  if (requestFormat === null) return null;
  return { from: requestFormat.name, to: format.name, pathNamesFormat, model, targetTag: tag };
}

function translationFor(
  { request }: Exchange,
  { format, responseFormat, responseFollowsBody }: RequestEndpoint,
  translated: TranslatedRequest | null,
): ResponseTranslation | null {
  if (responseFormat === null || responseFormat.inbound === null) return null;
  if (responseFollowsBody && translated?.bytes === null) return null;
  const { inbound } = responseFormat;
  const context = translated?.context ?? NO_CONTEXT;
  const isCopied =
    context.mayCopyItems === true && inbound.refersToItems?.(request.headers.get("user-agent")) === true;
  const own = isCopied ? { ...context, copiesItems: true } : context;
  return { from: format, to: responseFormat, inbound, context: own };
}

function translationFactsOf(
  { format, requestFormat }: RequestEndpoint,
  translated: TranslatedRequest | null,
  translation: ResponseTranslation | null,
  dropped: readonly string[],
): TranslationFacts | null {
  const isTranslated = translated !== null && translated.bytes !== null;
  const client = isTranslated ? requestFormat : (translation?.to ?? null);
  return client && { from: client.name, to: format.name, dropped };
}

function notTranslatable({ format }: RequestEndpoint): GatehouseError {
  return new GatehouseError(
    "untranslatable",
    `The target has the format ${format.name}, and only a JSON object with a JSON content type can be translated to it.`,
  );
}
