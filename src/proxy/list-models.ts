// Responds to requests for models with those of the gateway that the client may use: all of them, or one by its id. In
// OpenAI's format, or in Anthropic's for its clients.
import { GatehouseError } from "../base/errors.ts";
import { percentDecoded } from "../base/percent-decoded.ts";
import { shorten } from "../base/shorten.ts";
import { formatOfClient } from "../formats/registry.ts";
import type { ListedModel } from "../formats/model-list.ts";
import type { CompiledApiKey, CompiledGateway } from "../snapshot/compile.ts";
import type { CompiledRule } from "../snapshot/compiled-rule.ts";
import { apiKeyRequired, isAllowed } from "./authenticate.ts";
import { OutgoingResponse } from "../http/server/outgoing-response.ts";
import type { Exchange } from "./exchange.ts";
import { matchRule } from "./match-rule.ts";

const MODELS_PATH = "/v1/models";
/** The end of such a path. */
const MODELS_TAIL = "/models";

/** Whether requests with the method read something. */
export function isRead(method: string): boolean {
  return method === "GET" || method === "HEAD";
}

/** Whether every gateway serves requests for this path, those for models, unless a rule of it does. */
export function isModelList(path: string, method: string): boolean {
  if (!path.startsWith(MODELS_PATH) || !isRead(method)) return false;
  return path === MODELS_PATH || /^\/./.test(path.slice(MODELS_PATH.length));
}

/** Whether the request is for models. A rule of the gateway, or of any if `gateway` is null, takes precedence. */
export function isModelListRequest(exchange: Exchange, gateway: CompiledGateway | null): boolean {
  if (!isModelList(exchange.path, exchange.method)) return false;
  try {
    matchRule(exchange, gateway);
    return false;
  } catch (error) {
    return !(error instanceof GatehouseError) || error.code !== "ambiguous_gateway";
  }
}

export function listModels(
  exchange: Exchange,
  requestGateway: CompiledGateway | null,
  alwaysRequired: boolean,
): OutgoingResponse {
  const gateway = requestGateway ?? onlyGateway(exchange);
  const { apiKey } = exchange;
  exchange.gateway = gateway;
  if (apiKey === null && (alwaysRequired || gateway.gateway.require_api_key)) throw apiKeyRequired();
  return describeModels(exchange, gateway, exchange.path.slice(MODELS_PATH.length - MODELS_TAIL.length));
}

/** `tail` is `/models`, or `/models/` and the id of a model. */
export function describeModels(exchange: Exchange, gateway: CompiledGateway, tail: string): OutgoingResponse {
  const { request, path, requestId } = exchange;
  const isOne = tail.length > MODELS_TAIL.length + 1;
  const models = usableModels(exchange, gateway, isOne);
  const { encodeModel, encodeModelList } = formatOfClient(path, request.headers).models;
  const body = isOne
    ? encodeModel(modelNamed(percentDecoded(tail.slice(MODELS_TAIL.length + 1)), models, exchange, gateway))
    : encodeModelList(models);
  return OutgoingResponse.json(body, { headers: { "X-Request-Id": requestId, "Request-Id": requestId } });
}

/** Aliases of virtual models are found, but not listed. */
function usableModels(
  { apiKey }: Exchange,
  { gateway, rules }: CompiledGateway,
  withAliases: boolean,
): ListedModel[] {
  const owners = new Map<string, string>();
  for (const rule of rules) {
    if (!isUsable(rule, apiKey)) continue;
    for (const [name, provider] of ownersOf(rule, apiKey, withAliases))
      if (!owners.has(name)) owners.set(name, provider);
  }
  const createdAt = Date.parse(gateway.created_at);
  return [...owners].map(([id, owner]) => ({ id, owner, createdAt }));
}

/** Returns the names that a client with this key may send to the rule. */
export function modelsOfRule(rule: CompiledRule, apiKey: CompiledApiKey | null): string[] {
  return [...ownersOf(rule, apiKey, false).keys()];
}

function ownersOf(
  rule: CompiledRule,
  apiKey: CompiledApiKey | null,
  withAliases: boolean,
): Map<string, string> {
  const owners = new Map<string, string>();
  for (const { name, provider } of visibleModels(rule, apiKey, withAliases))
    if (!owners.has(name)) owners.set(name, provider);
  for (const { models, defaultModel, provider } of rule.upstream.targets) {
    for (const model of [defaultModel, ...(models ?? [])])
      if (model !== null && !owners.has(model) && apiKey?.models?.allows(model) !== false)
        owners.set(model, provider);
  }
  return owners;
}

/** A rule may require an API key although its gateway does not. */
function isUsable(rule: CompiledRule, apiKey: CompiledApiKey | null): boolean {
  return isAllowed(apiKey, rule) && (apiKey !== null || !rule.requireApiKey);
}

/** Returns the exact names of virtual models that the rule serves and the key may use, with the provider of their first target. */
function visibleModels(
  { virtualModels }: CompiledRule,
  apiKey: CompiledApiKey | null,
  withAliases: boolean,
): { readonly name: string; readonly provider: string }[] {
  const allows = (name: string) => apiKey?.models?.allows(name) !== false;
  return (virtualModels?.models ?? []).flatMap(({ record, targets }) => {
    const { name, aliases, visible } = record;
    const used = targets.find(({ model }) => model !== null && allows(model));
    if (!visible || used === undefined) return [];
    const names = [name, ...(withAliases ? aliases : [])].filter(
      (each) => !each.endsWith("*") && allows(each),
    );
    return names.map((each) => ({ name: each, provider: used.upstream.targets[0]?.provider ?? "" }));
  });
}

/** A name may contain slashes. `provider/model` and names that a pattern matches are found like aliases. */
function modelNamed(
  name: string,
  models: readonly ListedModel[],
  { apiKey }: Exchange,
  { gateway, rules }: CompiledGateway,
): ListedModel {
  const listed = models.find(({ id }) => id === name);
  if (listed !== undefined) return listed;
  const allows = (model: string) => apiKey?.models?.allows(model) !== false;
  for (const rule of allows(name) ? rules : []) {
    const found = isUsable(rule, apiKey) ? (rule.virtualModels?.find(name) ?? null) : null;
    if (found === null || !found.model.record.visible || name.endsWith("*")) continue;
    for (const { upstream, model } of found.model.targets) {
      const sent = model ?? found.name;
      const [index] = upstream.candidatesFor(sent)?.preferred ?? [];
      const target = index === undefined ? undefined : upstream.targets[index];
      if (target !== undefined && allows(sent))
        return { id: name, owner: target.provider, createdAt: Date.parse(gateway.created_at) };
    }
  }
  throw new GatehouseError("model_not_found", `There is no model "${shorten(name)}".`);
}

function onlyGateway({ snapshot }: Exchange): CompiledGateway {
  if (snapshot.gateways.size > 1) {
    throw new GatehouseError(
      "ambiguous_gateway",
      "There are several gateways. Send the Host or an API key of one of them.",
    );
  }
  if (snapshot.onlyGateway === null)
    throw new GatehouseError("rule_not_found", "There is no gateway yet. Create one with the Admin API.");
  return snapshot.onlyGateway;
}
