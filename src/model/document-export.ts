// Converts records to a configuration document: no ids, references by name, secrets as references to the environment.
import type { ErrorDetail } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";
import type { ApiKey } from "./api-key.ts";
import type { Budget } from "./budget.ts";
import { documentSchema } from "./document.ts";
import { compactObject } from "./document-defaults.ts";
import { escapeReferences, mapTexts } from "./document-variables.ts";
import { showGateway, type Gateway } from "./gateway.ts";
import type { McpServer } from "./mcp-server.ts";
import type { Price } from "./price.ts";
import { omit, type ChildFields } from "./record.ts";
import type { Rule } from "./rule.ts";
import { ruleIdentity, ruleLabel, RuleNames } from "./rule-names.ts";
import type { Service } from "./service.ts";
import { secretReferences, type SecretVariable } from "./document-secrets.ts";
import type { Upstream } from "./upstream.ts";
import { formatPath } from "./validate.ts";
import type { VirtualModel } from "./virtual-model.ts";

type ApiKeyWithHash = ApiKey & { readonly hash: string };

type NamesById = ReadonlyMap<string, string>;

interface GatewayRecords {
  readonly gateway: Gateway;
  readonly upstreams: readonly Upstream[];
  readonly mcp_servers: readonly McpServer[];
  readonly services: readonly Service[];
  readonly rules: readonly Rule[];
  readonly models: readonly VirtualModel[];
  readonly budgets: readonly Budget[];
  /** Active keys only: a document does not contain revoked keys. */
  readonly apiKeys: readonly ApiKeyWithHash[];
}

export function gatewayForm(gateway: Gateway) {
  return omit(showGateway(gateway), "id", "created_at", "updated_at");
}

/** Contains the secrets in plain text: the caller has to hide them. */
export function upstreamForm(upstream: Upstream) {
  return { ...ownFields(upstream), targets: upstream.targets.map((target) => omit(target, "id")) };
}

/** Contains the secrets in plain text: the caller has to hide them. */
export function mcpServerForm(server: McpServer) {
  return ownFields(server);
}

export function serviceForm(
  { upstream_id, mcp_server_ids, ...service }: Service,
  upstreams: NamesById,
  servers: NamesById,
) {
  return {
    ...ownFields(service),
    upstream: upstream_id === null ? null : nameOf(upstreams, upstream_id),
    mcp_servers: mcp_server_ids.map((id) => nameOf(servers, id)),
  };
}

export function ruleForm({ service_id, ...rule }: Rule, services: NamesById) {
  return { ...ownFields(rule), service: nameOf(services, service_id) };
}

export function virtualModelForm(model: VirtualModel, upstreams: NamesById) {
  const targets = model.targets.map((target) => ({
    ...target,
    upstream: nameOf(upstreams, target.upstream),
  }));
  const canary = model.canary && {
    ...model.canary,
    target: { ...model.canary.target, upstream: nameOf(upstreams, model.canary.target.upstream) },
  };
  const mirror = model.mirror && {
    ...model.mirror,
    target: { ...model.mirror.target, upstream: nameOf(upstreams, model.mirror.target.upstream) },
  };
  return { ...ownFields(model), targets, canary, mirror };
}

export function budgetForm(budget: Budget) {
  return ownFields(budget);
}

/** Returns the names of API keys by their ids, without those that several keys have. */
export function uniqueKeyNames(
  keys: readonly { readonly id: string; readonly name: string }[],
): ReadonlyMap<string | null, string> {
  const groups = [...Map.groupBy(keys, ({ name }) => name).values()];
  return new Map(groups.flatMap(([key, other]) => (key && !other ? [[key.id, key.name]] : [])));
}

/** Ids of keys mean nothing in another installation. */
function budgetWithKeyName(budget: Budget, keyNames: ReadonlyMap<string | null, string>) {
  const { scope, value } = budget;
  return budgetForm(scope === "api_key" ? { ...budget, value: keyNames.get(value) ?? value } : budget);
}

export function apiKeyForm(
  { hash, ...key }: ApiKeyWithHash,
  rules: ReadonlyMap<string, Rule>,
  policyOf: (rule: Rule) => string = ruleLabel,
) {
  const policies = key.policies.map((id) => {
    const rule = rules.get(id);
    return rule === undefined ? id : policyOf(rule);
  });
  const fields = omit(ownFields(key), "subject", "subject_type", "active", "last_used_at");
  return { ...fields, policies, key_sha256: hash };
}

function ownFields<T extends ChildFields>(record: T) {
  return omit(record, "id", "gateway_id", "created_at", "updated_at");
}

export function namesById(records: readonly { readonly id: string; readonly name: string }[]): NamesById {
  return new Map(records.map(({ id, name }) => [id, name]));
}

function nameOf(names: NamesById, id: string): string {
  return names.get(id) ?? id;
}

/** Returns the records that a document cannot distinguish because they have the same name. API keys differ in their hashes. */
export function exportProblems(gateways: readonly GatewayRecords[]): ErrorDetail[] {
  const named = (records: readonly { readonly name: string; readonly id: string }[]) =>
    Map.groupBy(records, ({ name }) => name);
  const problems = duplicates("gateways", "gateways", named(gateways.map(({ gateway }) => gateway)));
  for (const { gateway, upstreams, mcp_servers, services, rules, models, budgets } of gateways) {
    const place = `of gateway "${gateway.name}"`;
    problems.push(
      ...duplicates("upstreams", `upstreams ${place}`, named(upstreams)),
      ...duplicates("mcp_servers", `MCP servers ${place}`, named(mcp_servers)),
      ...duplicates("services", `services ${place}`, named(services)),
      ...duplicates("models", `virtual models ${place}`, named(models)),
      ...duplicates("budgets", `budgets ${place}`, named(budgets)),
      ...duplicates("rules", `rules ${place}`, Map.groupBy(rules, ruleIdentity), ruleLabel),
    );
  }
  return problems;
}

function duplicates<T extends { readonly id: string; readonly name: string | null }>(
  path: string,
  what: string,
  groups: ReadonlyMap<string, readonly T[]>,
  labelOf: (record: T) => string = ({ name }) => name ?? "",
): ErrorDetail[] {
  return [...groups.values()].flatMap(([first, ...others]) => {
    if (first === undefined || others.length === 0) return [];
    const ids = [first, ...others].map(({ id }) => id).join(" and ");
    const message = `the ${what} ${ids} are both "${labelOf(first)}"; give them different names`;
    return [{ path, message }];
  });
}

/** Returns the document, and the environment variables that it refers to. */
export function exportDocument(
  gateways: readonly GatewayRecords[],
  prices: readonly Price[] | null,
): {
  readonly document: JsonObject;
  readonly variables: readonly SecretVariable[];
} {
  const forms = gateways.map(gatewayWithRecords);
  const { references, variables } = secretReferences(forms);
  const escaped = mapTexts(
    { version: 1, gateways: forms, ...(prices !== null && { prices }) },
    (text, keys) => references.get(formatPath(keys)) ?? escapeReferences(text),
  );
  return { document: { version: 1, ...compactObject(documentSchema, escaped) }, variables };
}

function gatewayWithRecords({ gateway, upstreams, mcp_servers, services, rules, ...others }: GatewayRecords) {
  const upstreamNames = namesById(upstreams);
  const serverNames = namesById(mcp_servers);
  const serviceNames = namesById(services);
  const rulesById = new Map(rules.map((rule) => [rule.id, rule]));
  const ruleNames = new RuleNames(rules);
  const keyNames = uniqueKeyNames(others.apiKeys);
  return {
    ...gatewayForm(gateway),
    upstreams: upstreams.map(upstreamForm),
    mcp_servers: mcp_servers.map(mcpServerForm),
    services: services.map((service) => serviceForm(service, upstreamNames, serverNames)),
    rules: rules.map((rule) => ruleForm(rule, serviceNames)),
    models: others.models.map((model) => virtualModelForm(model, upstreamNames)),
    budgets: others.budgets.map((budget) => budgetWithKeyName(budget, keyNames)),
    api_keys: others.apiKeys.map((key) => apiKeyForm(key, rulesById, (rule) => ruleNames.policyFor(rule))),
  };
}
