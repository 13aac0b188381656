// Puts a request into the form its target wants: address, headers, model, wire format.
import { GatehouseError } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";
import { spliceTopLevelString } from "../base/json-splice.ts";
import { ANTHROPIC_FORMAT, OPENAI_FORMAT } from "../formats/format-names.ts";
import { isAnthropicBody } from "../formats/anthropic-body.ts";
import { translateChatRequest } from "../formats/translate/openai-chat-to-anthropic-messages.ts";
import { isChatPath } from "../formats/providers.ts";
import { TranslationError } from "../formats/translate/translation-error.ts";
import type { CompiledTarget } from "../snapshot/compile-upstream.ts";
import type { CompiledRule } from "../snapshot/compiled-rule.ts";
import type { OutgoingRequest } from "../upstream/outgoing-request.ts";
import { DEFAULT_VERSION, VERSION_HEADER } from "../formats/anthropic-messages.ts";
import type { ClientCredentials } from "./client-credential.ts";
import type { Exchange } from "./exchange.ts";
import { forwardedHeaders } from "./header-filter.ts";
import { lacksUsageOption, withUsageOption } from "../usage/usage-option.ts";

export interface EncodedRequest extends OutgoingRequest {
  readonly headers: Record<string, string>;
  /** The same body without the option that the gateway put in for its own count; null where it put in none. */
  readonly plainBody: Uint8Array | null;
  /** A chat completion, whose tokens are counted. */
  readonly isChat: boolean;
  /** The model as it was sent, if any. */
  readonly model: string | null;
  /** The answer is to be put into another wire format. */
  readonly isTranslated: boolean;
  /** The answer must be read here, so it must come in an encoding that can be. */
  readonly readsAnswer: boolean;
}

export function encodeRequest(
  exchange: Exchange,
  rule: CompiledRule,
  target: CompiledTarget,
  clientCredentials: ClientCredentials,
): EncodedRequest {
  const isTranslated = rule.rule.response_format !== null && target.format === ANTHROPIC_FORMAT;
  const readsAnswer = isTranslated || (exchange.gateway?.chain?.pre_response ?? null) !== null;
  const path = pathFor(exchange, rule, target);
  const { body, model } = encodeBody(exchange, target);
  const { json } = exchange;
  const isChat = json !== null && isChatRequest(exchange.method, path, json, target);
  const lacksOption =
    isChat && body !== null && target.format === OPENAI_FORMAT && lacksUsageOption(json, target);
  return {
    baseUrl: target.baseUrl,
    path: path + exchange.sentQuery,
    method: exchange.method,
    headers: headersFor(exchange, rule, target, clientCredentials, readsAnswer),
    body: lacksOption ? withUsageOption(body, json) : body,
    plainBody: lacksOption ? body : null,
    isChat,
    model,
    isTranslated,
    readsAnswer,
  };
}

function isChatRequest(method: string, path: string, body: JsonObject, { format }: CompiledTarget): boolean {
  return method === "POST" && isChatPath(path, format) && Array.isArray(body["messages"]);
}

function pathFor(
  { sentPath: path }: Exchange,
  { rule, pathKind }: CompiledRule,
  target: CompiledTarget,
): string {
  if (!rule.strip_path) return target.path ?? path;
  const remainder = pathKind === "prefix" ? path.slice(prefixLength(path, rule.path)) : "";
  return (target.path ?? "") + remainder;
}

/** How much of `path` the segments before `/*` take up. */
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
  clientCredentials: ClientCredentials,
  readsAnswer: boolean,
): Record<string, string> {
  const headers = sentHeaders === null ? forwardedHeaders(request.headers) : { ...sentHeaders };
  // Without a word on it any encoding would do, and this client never said which it can read.
  if (readsAnswer || headers["accept-encoding"] === undefined) headers["accept-encoding"] = "identity";
  headers["user-agent"] ??= "gatehouse";
  if (!target.hasCredential)
    for (const [name, value] of clientCredentials(request.headers)) headers[name] = value;
  for (const [name, value] of target.headers) headers[name] = value;
  if (target.format === ANTHROPIC_FORMAT) headers[VERSION_HEADER] ??= DEFAULT_VERSION;
  const host = rule.preserve_host ? request.headers.get("host") : null;
  if (host !== null) headers["host"] = host;
  return headers;
}

function encodeBody(exchange: Exchange, target: CompiledTarget): Pick<EncodedRequest, "body" | "model"> {
  const { json, bodyText, body } = exchange;
  if (json === null || bodyText === null) return { body, model: null };
  const model = modelFor(exchange, target);
  if (target.format === ANTHROPIC_FORMAT && Array.isArray(json["messages"]) && !isAnthropicBody(json)) {
    return { body: Buffer.from(translate(model === null ? json : { ...json, model })), model };
  }
  if (model === null || model === exchange.model) return { body, model };
  return { body: Buffer.from(spliceTopLevelString(bodyText, "model", model)), model };
}

/** What the client asked for where the target serves it, else the target's own default; none without a JSON object. */
export function modelFor(
  { json, model: wanted }: Pick<Exchange, "json" | "model">,
  { models, defaultModel }: CompiledTarget,
): string | null {
  if (json === null) return null;
  if (wanted !== null && (models === null || models.has(wanted))) return wanted;
  return defaultModel ?? wanted;
}

function translate(body: Parameters<typeof translateChatRequest>[0]): string {
  try {
    return JSON.stringify(translateChatRequest(body));
  } catch (error) {
    if (!(error instanceof TranslationError)) throw error;
    const details = [{ path: error.path, message: error.message }];
    throw new GatehouseError("untranslatable", error.message, { details });
  }
}
