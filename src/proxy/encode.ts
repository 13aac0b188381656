// Builds the request to a target from the client's request: URL, headers, model, and wire format.
import { spliceTopLevelString } from "../base/json-splice.ts";
import type { ContentReader } from "../formats/content-reader.ts";
import { HUB_FORMAT } from "../formats/format-names.ts";
import type { StreamUsageOption, Translator } from "../formats/format.ts";
import { formatNamed, formatOfChatPath } from "../formats/registry.ts";
import type { DetailsReader } from "../formats/response-details.ts";
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
import { translateRequest } from "./translate-request.ts";
import { isPassedOn, needsTranslation } from "./translations.ts";

export interface EncodedRequest extends OutgoingRequest {
  readonly headers: Record<string, string>;
  /** The option that the gateway added to the body to get the usage of a stream; null if it added none. */
  readonly addedUsageOption: AddedUsageOption | null;
  /** A chat completion. Its response counts as usage even if it reports no tokens. */
  readonly isChat: boolean;
  /** The model that is sent to the target, if any. */
  readonly model: string | null;
  /** Translates the response to the hub format; null if the response is relayed in the target's format. */
  readonly translator: Translator | null;
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
  const translator = translatesResponse(exchange, rule, target) ? format.translator : null;
  const readsResponse = translator !== null || (exchange.gateway?.chain?.pre_response ?? null) !== null;
  const path = pathFor(exchange, rule, target);
  const { body, model } = encodeBody(exchange, target);
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
    translator,
    readsResponse,
    usageReader: endpointFormat.usage,
    detailsReader: endpointFormat.details,
    contentReader: (translator === null ? endpointFormat : formatNamed(HUB_FORMAT)).content,
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

function encodeBody(exchange: Exchange, target: CompiledTarget): Pick<EncodedRequest, "body" | "model"> {
  const { body, fields, sentPath } = exchange;
  if (body === null || !fields.isObject) return { body: body?.bytes ?? null, model: null };
  const model = modelFor(fields, target);
  const translated = needsTranslation(fields, sentPath, target)
    ? translatedBody(exchange, body, target, model)
    : null;
  if (translated !== null) return { body: translated, model };
  if (model === null || model === fields.model) return { body: body.bytes, model };
  return { body: Buffer.from(spliceTopLevelString(body.text ?? "", "model", model)), model };
}

/** Returns null if the body already has the target's format. */
function translatedBody(
  exchange: Exchange,
  body: RequestBody,
  { format }: CompiledTarget,
  model: string | null,
): Uint8Array | null {
  const prepared = exchange.translations?.get(format.name, model);
  if (prepared !== undefined) return prepared;
  const startedAt = exchange.clock.now();
  const { json } = body;
  const translated = json === null ? null : translateRequest(format.name, json, model);
  if (translated !== null) exchange.translateMs += exchange.clock.now() - startedAt;
  return translated;
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
