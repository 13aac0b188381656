// Which endpoint of a target a request goes to, and what has to be translated on the way.
import { indexOfBytes } from "../base/byte-search.ts";
import type { EndpointTable, ProviderEndpoint } from "../formats/endpoint-table.ts";
import { HUB_FORMAT, type ResponseFormat } from "../formats/format-names.ts";
import type { Format } from "../formats/format.ts";
import { isChatEndpoint } from "../formats/operations.ts";
import { PACKED_IN_JSON } from "../formats/reasoning-details.ts";
import { formatNamed, formatOfChatPath, isOtherEndpoint } from "../formats/registry.ts";
import type { CompiledTarget } from "../snapshot/compile-upstream.ts";
import type { CompiledRule } from "../snapshot/compiled-rule.ts";
import type { Exchange } from "./exchange.ts";
import { modelFor } from "./model-for.ts";
import { isOther } from "./operation.ts";
import { orUntranslatable } from "./untranslatable.ts";

export interface RequestEndpoint {
  /** The path that is sent to the target, without the path of its base URL. */
  readonly path: string;
  /** The query that replaces that of the client; null if the client's is forwarded. */
  readonly query: string | null;
  readonly format: Format;
  /** The format to translate the request from; null if it is forwarded as it is. */
  readonly requestFormat: Format | null;
  /** Whether the path of the client names that format. If not, the body may have the format of the target already. */
  readonly pathNamesFormat: boolean;
  /** The format to translate the response to; null if it is relayed as it is. */
  readonly responseFormat: Format | null;
  /** Whether the response is relayed as it is if the request turns out to have the format of the endpoint already. */
  readonly responseFollowsBody: boolean;
}

const HUB = formatNamed(HUB_FORMAT);

export function endpointAt(exchange: Exchange, rule: CompiledRule, target: CompiledTarget): RequestEndpoint {
  const { endpoints } = target;
  const endpoint =
    endpoints === null
      ? configuredEndpoint(exchange, rule, target)
      : providerEndpoint(exchange, rule, target, endpoints);
  const { path } = endpoint;
  const complete = completePath(path, endpoint.format, exchange, target);
  if (complete === path) return endpoint;
  const [completePathOnly = "", query] = complete.split("?");
  const isOwnClient = exchange.endpoint !== null && exchange.endpoint.model !== null;
  if (isOwnClient) return { ...endpoint, path: completePathOnly };
  // The client's query is for the endpoint of another API, and Google's APIs reject parameters that they do not know.
  return { ...endpoint, path: completePathOnly, query: query === undefined ? "" : `?${query}` };
}

/** Inserts the model into the path, and selects the method, for formats whose paths have them. */
function completePath(path: string, format: Format, exchange: Exchange, target: CompiledTarget): string {
  if (format.completePath === null) return path;
  const { fields, endpoint } = exchange;
  const model = modelFor(fields, target) ?? endpoint?.model ?? null;
  return completedWith(format.completePath, path, model, endpoint?.wantsStream ?? fields.wantsStream);
}

function completedWith(
  complete: NonNullable<Format["completePath"]>,
  path: string,
  model: string | null,
  wantsStream: boolean,
): string {
  return orUntranslatable(() => complete(path, model, wantsStream));
}

/** Returns the path that is sent to the target, without the path of its base URL. */
export function pathFor(exchange: Exchange, rule: CompiledRule, target: CompiledTarget): string {
  return endpointAt(exchange, rule, target).path;
}

/** For a target with a `path`. */
function configuredEndpoint(exchange: Exchange, rule: CompiledRule, target: CompiledTarget): RequestEndpoint {
  const { sentPath, method, fields } = exchange;
  const path = configuredPath(exchange, rule, target);
  // A target with an empty path also gets requests to the endpoints of other formats, whose responses have that format.
  const format = target.format.isChatPath(path) ? target.format : (formatOfChatPath(path) ?? target.format);
  const isPassedOn = target.path === null && isOtherEndpoint(sentPath, target.format);
  const selected = rule.rule.response_format;
  const client = selected === "request" ? (formatOfChatPath(sentPath) ?? HUB) : HUB;
  const isTranslated =
    target.format !== client && fields.isObject && (fields.hasMessages || client !== HUB) && !isPassedOn;
  const wanted =
    selected === null || method !== "POST" || isPassedOn ? null : responseFormat(selected, client);
  const pathNamesFormat = selected === "request" && formatOfChatPath(sentPath) !== null;
  return {
    path,
    query: null,
    format,
    requestFormat: isTranslated ? client : null,
    pathNamesFormat,
    responseFormat: wanted === target.format ? null : wanted,
    responseFollowsBody: selected === "request" && !pathNamesFormat,
  };
}

/** For a target without a `path`: the endpoint of its provider for the operation of the request. */
function providerEndpoint(
  exchange: Exchange,
  rule: CompiledRule,
  target: CompiledTarget,
  endpoints: EndpointTable,
): RequestEndpoint {
  const { endpoint, method, fields } = exchange;
  if (isOther(exchange, rule)) return unchanged(target.format, configuredPath(exchange, rule, target));
  const { format, path } = foundIn(endpoints, exchange, target);
  if (method !== "POST" || (endpoint !== null && !isChatEndpoint(endpoint))) return unchanged(format, path);
  const client = endpoint === null ? HUB : formatNamed(endpoint.format);
  const isChat = endpoint !== null || fields.hasMessages;
  const selected = rule.rule.response_format ?? "request";
  const wanted = responseFormat(selected, client);
  const isTranslated = isChat && (client !== format || hasForeignReasoning(exchange, rule, client));
  return {
    path,
    // That of the client is for the API that it uses, for example `?beta=true`.
    query: client !== format && isTranslated && endpoint !== null ? "" : null,
    format,
    requestFormat: isTranslated ? client : null,
    pathNamesFormat: endpoint !== null,
    responseFormat: wanted === format ? null : wanted,
    responseFollowsBody: selected === "request" && endpoint === null,
  };
}

/** Whether the conversation began at a target of another format, whose reasoning this one would reject. */
function hasForeignReasoning({ body }: Exchange, { upstream }: CompiledRule, { inbound }: Format): boolean {
  if (!upstream.hasSeveralFormats || body === null || (inbound?.withoutForeignReasoning ?? null) === null)
    return false;
  return indexOfBytes(body.bytes, PACKED_IN_JSON, 0) >= 0;
}

function unchanged(format: Format, path: string): RequestEndpoint {
  return {
    path,
    query: null,
    format,
    requestFormat: null,
    pathNamesFormat: false,
    responseFormat: null,
    responseFollowsBody: false,
  };
}

function foundIn(
  endpoints: EndpointTable,
  { endpoint, fields }: Exchange,
  target: CompiledTarget,
): ProviderEndpoint {
  const found = endpoint === null ? null : endpoints.findFor(endpoint, modelFor(fields, target));
  return found ?? endpoints.chat;
}

function responseFormat(selected: ResponseFormat, client: Format): Format {
  return selected === "request" ? client : formatNamed(selected);
}

/** Returns the path that a target with a `path` gets, without the path of its base URL. */
export function configuredPath(
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
