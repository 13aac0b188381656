// Builds the request to a target from the client's request: URL, headers, model, and wire format.
import { spliceTopLevelString } from "../base/json-splice.ts";
import type { ContentReader } from "../formats/content-reader.ts";
import { HUB_FORMAT } from "../formats/format-names.ts";
import type { StreamUsageOption } from "../formats/format.ts";
import { formatNamed, formatOfChatPath } from "../formats/registry.ts";
import type { DetailsReader } from "../formats/response-details.ts";
import { NO_CONTEXT, type ResponseContext } from "../formats/translator.ts";
import type { UsageReader } from "../formats/usage-reader.ts";
import type { CompiledTarget } from "../snapshot/compile-upstream.ts";
import type { CompiledRule } from "../snapshot/compiled-rule.ts";
import type { OutgoingRequest } from "../upstream/outgoing-request.ts";
import { isKnownToReject } from "../usage/usage-option.ts";
import { clientCredentials, credentialHash } from "./client-credential.ts";
import type { Exchange } from "./exchange.ts";
import { forwardedHeaders } from "./header-filter.ts";
import type { OwnCredentials } from "./own-credentials.ts";
import type { BodyFields, RequestBody } from "./request-body.ts";
import { translateRequest, type TranslatedRequest, type TranslationTask } from "./translate-request.ts";
import type { ResponseTranslation } from "./response-translation.ts";
import { isPassedOn, needsTranslation } from "./translations.ts";

export interface EncodedRequest extends OutgoingRequest {
  readonly headers: Record<string, string>;
  /** The option that the gateway added to the body to get the usage of a stream; null if it added none. */
  readonly addedUsageOption: AddedUsageOption | null;
  /** A chat completion. Its response counts as usage even if it reports no tokens. */
  readonly isChat: boolean;
  /** The model that is sent to the target, if any. */
  readonly model: string | null;
  /** Null if the response is relayed in the target's format. */
  readonly translation: ResponseTranslation | null;
  /** Fields of the request that the target's format cannot express. */
  readonly dropped: readonly string[];
  /** The gateway reads the response body, so the target must not compress it. */
  readonly readsResponse: boolean;
  readonly usageReader: UsageReader;
  readonly detailsReader: DetailsReader;
  /** For the format in which the response is relayed. */
  readonly contentReader: ContentReader;
}

export interface AddedUsageOption {
  readonly option: StreamUsageOption;
  readonly bodyWith: Uint8Array;
  readonly bodyWithout: Uint8Array;
}

export function encodeRequest(
  exchange: Exchange,
  rule: CompiledRule,
  target: CompiledTarget,
  ownCredentials: OwnCredentials,
): EncodedRequest {
  const { fields } = exchange;
  const { format } = target;
  const { body, model, dropped, context } = encodeBody(exchange, target);
  const translation = translatesResponse(exchange, rule, target) ? translationFor(target, context) : null;
  const readsResponse = translation !== null || (exchange.gateway?.chain?.pre_response ?? null) !== null;
  const path = pathFor(exchange, rule, target);
  const isChatPath = format.isChatPath(path);
  // A target with an empty path also gets requests to the endpoints of other formats, whose responses have that format.
  const endpointFormat = isChatPath ? format : (formatOfChatPath(path) ?? format);
  const isChat = isChatPath && exchange.method === "POST" && fields.hasMessages;
  const addedUsageOption = isChat && body !== null ? usageOptionFor(body, fields, target) : null;
  const headers = headersFor(exchange, rule, target, ownCredentials, readsResponse);
  const query = ownCredentials.removeFromQuery(exchange.sentQuery);
  const clientCredential = target.hasCredential ? null : credentialHash(headers, query);
  return {
    baseUrl: target.baseUrl,
    poolKey: clientCredential === null ? target.poolKey : `${target.poolKey}:${clientCredential}`,
    usesClientCredential: clientCredential !== null,
    path: path + query,
    method: exchange.method,
    headers,
    body: addedUsageOption === null ? body : addedUsageOption.bodyWith,
    addedUsageOption,
    isChat,
    model,
    translation,
    dropped,
    readsResponse,
    usageReader: endpointFormat.usage,
    detailsReader: endpointFormat.details,
    contentReader: (translation === null ? endpointFormat : translation.to).content,
  };
}

/** Only responses to chat requests are translated: lists of models, batches and the like have no other format. */
function translatesResponse(
  { method, sentPath }: Exchange,
  { rule }: CompiledRule,
  target: CompiledTarget,
): boolean {
  return rule.response_format !== null && method === "POST" && !isPassedOn(sentPath, target);
}

/** Returns the option to add to a stream request, or null if it is not needed or the target does not accept it. */
function usageOptionFor(
  body: Uint8Array,
  { wantsStream, streamOptions }: BodyFields,
  target: CompiledTarget,
): AddedUsageOption | null {
  const option = target.format.streamUsageOption;
  if (option === null || !wantsStream || !option.canAdd(streamOptions) || isKnownToReject(target))
    return null;
  return { option, bodyWith: option.add(body, streamOptions), bodyWithout: body };
}

/** Returns the path that is sent to the target, without the path of its base URL. */
export function pathFor(
  { sentPath: path }: Exchange,
  { rule, pathKind }: CompiledRule,
  target: CompiledTarget,
): string {
  if (!rule.strip_path) return target.path ?? path;
  const remainder = pathKind === "prefix" ? path.slice(prefixLength(path, rule.path)) : "";
  return (target.path ?? "") + remainder;
}

/** Returns the length of the part of `path` that matches the segments of `pattern` before its final `*`. */
function prefixLength(path: string, pattern: string): number {
  let segments = pattern.split("/").length - 2;
  let at = 0;
  while (segments-- > 0) {
    at = path.indexOf("/", at + 1);
    if (at < 0) return path.length;
  }
  return at;
}

function headersFor(
  { request, sentHeaders }: Exchange,
  { rule }: CompiledRule,
  target: CompiledTarget,
  ownCredentials: OwnCredentials,
  readsResponse: boolean,
): Record<string, string> {
  const headers =
    sentHeaders === null ? forwardedHeaders(request.headers, ownCredentials) : { ...sentHeaders };
  // Without Accept-Encoding the target may use any encoding (RFC 9110, 12.5.3), also one that the client cannot decode.
  if (readsResponse || headers["accept-encoding"] === undefined) headers["accept-encoding"] = "identity";
  headers["user-agent"] ??= "gatehouse";
  if (!target.hasCredential)
    for (const [name, value] of clientCredentials(request.headers, ownCredentials)) headers[name] = value;
  for (const [name, value] of target.headers) headers[name] = value;
  for (const [name, value] of target.format.requiredHeaders) headers[name] ??= value;
  const host = rule.preserve_host ? request.headers.get("host") : null;
  if (host !== null) headers["host"] = host;
  return headers;
}

interface EncodedBody {
  readonly body: Uint8Array | null;
  readonly model: string | null;
  readonly dropped: readonly string[];
  /** Null if the request was not parsed. */
  readonly context: ResponseContext | null;
}

const NOTHING: readonly string[] = [];

function encodeBody(exchange: Exchange, target: CompiledTarget): EncodedBody {
  const { body, fields, sentPath } = exchange;
  if (body === null || !fields.isObject)
    return { body: body?.bytes ?? null, model: null, dropped: NOTHING, context: null };
  const model = modelFor(fields, target);
  if (!needsTranslation(fields, sentPath, target))
    return { body: withModel(body, fields, model), model, dropped: NOTHING, context: null };
  const { bytes, dropped, context } = translatedBody(exchange, body, taskFor(target, model));
  return { body: bytes ?? withModel(body, fields, model), model, dropped, context };
}

function withModel(body: RequestBody, fields: BodyFields, model: string | null): Uint8Array {
  if (model === null || model === fields.model) return body.bytes;
  return Buffer.from(spliceTopLevelString(body.text ?? "", "model", model));
}

function translatedBody(exchange: Exchange, body: RequestBody, task: TranslationTask): TranslatedRequest {
  const prepared = exchange.translations?.get(task);
  if (prepared !== undefined) return prepared;
  const startedAt = exchange.clock.now();
  const translated = translateRequest(body.json ?? {}, task);
  if (translated.bytes !== null) exchange.translateMs += exchange.clock.now() - startedAt;
  return translated;
}

/** Returns the translation of a request for a target. */
export function taskFor({ format, tag }: CompiledTarget, model: string | null): TranslationTask {
  return { from: HUB_FORMAT, to: format.name, model, targetTag: tag };
}

function translationFor(
  { format }: CompiledTarget,
  context: ResponseContext | null,
): ResponseTranslation | null {
  const to = formatNamed(HUB_FORMAT);
  if (to === format || to.inbound === null) return null;
  return { from: format, to, inbound: to.inbound, context: context ?? NO_CONTEXT };
}

/** Returns the requested model if the target serves it, else the target's default model; null without a JSON object. */
export function modelFor(
  { isObject, model: requested }: BodyFields,
  { models, defaultModel }: CompiledTarget,
): string | null {
  if (!isObject) return null;
  if (requested !== null && (models === null || models.has(requested))) return requested;
  return defaultModel ?? requested;
}
