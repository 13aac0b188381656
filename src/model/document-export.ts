// Converts records to a configuration document: no ids, references by name, secrets as references to the environment.
import type { ErrorDetail } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";
import type { ApiKey } from "./api-key.ts";
import type { Budget } from "./budget.ts";
import { documentSchema } from "./document.ts";
import { compactObject } from "./document-defaults.ts";
import { policyFor, ruleIdentity, ruleLabel } from "./document-links.ts";
import { escapeReferences, mapTexts } from "./document-variables.ts";
import { showGateway, type Gateway } from "./gateway.ts";
import type { Price } from "./price.ts";
import { omit, type ChildFields } from "./record.ts";
import type { Rule } from "./rule.ts";
import type { Service } from "./service.ts";
import { secretsOf, type SecretPlace } from "./target-secrets.ts";
import { HIDDEN, maskSecret } from "./secret-mask.ts";
import type { Upstream } from "./upstream.ts";
import { formatPath } from "./validate.ts";
import type { VirtualModel } from "./virtual-model.ts";
import { maskWebhook } from "./webhook-mask.ts";

type ApiKeyWithHash = ApiKey & { readonly hash: string };

interface GatewayRecords {
  readonly gateway: Gateway;
  readonly upstreams: readonly Upstream[];
  readonly services: readonly Service[];
  readonly rules: readonly Rule[];
  readonly models: readonly VirtualModel[];
  readonly budgets: readonly Budget[];
  /** Active keys only: a document does not contain revoked keys. */
  readonly apiKeys: readonly ApiKeyWithHash[];
}

/** An environment variable that a document refers to for a secret. */
export interface SecretVariable {
  readonly name: string;
  /** `gateway acme, upstream models, target 1 (openai)` */
  readonly place: string;
}

export function gatewayForm(gateway: Gateway) {
  return omit(showGateway(gateway), "id", "created_at", "updated_at");
}

/** Contains the secrets in plain text: the caller has to hide them. */
export function upstreamForm(upstream: Upstream) {
  return { ...ownFields(upstream), targets: upstream.targets.map((target) => omit(target, "id")) };
}

export function serviceForm({ upstream_id, ...service }: Service, upstreams: readonly Upstream[]) {
  return { ...ownFields(service), upstream: nameOf(upstreams, upstream_id) };
}

export function ruleForm({ service_id, ...rule }: Rule, services: readonly Service[]) {
  return { ...ownFields(rule), service: nameOf(services, service_id) };
}

export function virtualModelForm(model: VirtualModel, upstreams: readonly Upstream[]) {
  const targets = model.targets.map((target) => ({
    ...target,
    upstream: nameOf(upstreams, target.upstream),
  }));
  const canary = model.canary && {
    ...model.canary,
    target: { ...model.canary.target, upstream: nameOf(upstreams, model.canary.target.upstream) },
  };
  return { ...ownFields(model), targets, canary };
}

export function budgetForm(budget: Budget) {
  return ownFields(budget);
}

export function apiKeyForm(
  { hash, ...key }: ApiKeyWithHash,
  rules: readonly Rule[],
  policyOf: (rule: Rule) => string = ruleLabel,
) {
  const policies = key.policies.map((id) => {
    const rule = rules.find((each) => each.id === id);
    return rule === undefined ? id : policyOf(rule);
  });
  const fields = omit(ownFields(key), "subject", "subject_type", "active", "last_used_at");
  return { ...fields, policies, key_sha256: hash };
}

function ownFields<T extends ChildFields>(record: T) {
  return omit(record, "id", "gateway_id", "created_at", "updated_at");
}

function nameOf(records: readonly { readonly id: string; readonly name: string }[], id: string): string {
  return records.find((each) => each.id === id)?.name ?? id;
}

/** Returns the records that a document cannot distinguish because they have the same name. API keys differ in their hashes. */
export function exportProblems(gateways: readonly GatewayRecords[]): ErrorDetail[] {
  const named = (records: readonly { readonly name: string; readonly id: string }[]) =>
    Map.groupBy(records, ({ name }) => name);
  const problems = duplicates("gateways", "gateways", named(gateways.map(({ gateway }) => gateway)));
  for (const { gateway, upstreams, services, rules, models, budgets } of gateways) {
    const place = `of gateway "${gateway.name}"`;
    problems.push(
      ...duplicates("upstreams", `upstreams ${place}`, named(upstreams)),
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
  const forms = gateways.map(({ gateway, upstreams, services, rules, models, budgets, apiKeys }) => ({
    ...gatewayForm(gateway),
    upstreams: upstreams.map(upstreamForm),
    services: services.map((service) => serviceForm(service, upstreams)),
    rules: rules.map((rule) => ruleForm(rule, services)),
    models: models.map((model) => virtualModelForm(model, upstreams)),
    budgets: budgets.map(budgetForm),
    api_keys: apiKeys.map((key) => apiKeyForm(key, rules, (rule) => policyFor(rule, rules))),
  }));
  const { references, variables } = secretReferences(forms);
  const escaped = mapTexts(
    { version: 1, gateways: forms, ...(prices !== null && { prices }) },
    (text, path) => references.get(path) ?? escapeReferences(text),
  );
  return { document: { version: 1, ...compactObject(documentSchema, escaped) }, variables };
}

/** Returns a reference for each secret, by its path in the document, and the variables that the references use. */
function secretReferences(
  gateways: readonly {
    readonly name: string;
    readonly upstreams: readonly Pick<ReturnType<typeof upstreamForm>, "name" | "targets">[];
    readonly budgets: readonly Pick<Budget, "name" | "webhook">[];
  }[],
) {
  const references = new Map<string, string>();
  const variables: SecretVariable[] = [];
  const taken = new Set<string>();
  for (const [gatewayIndex, gateway] of gateways.entries()) {
    for (const [index, { name: budget, webhook }] of gateway.budgets.entries()) {
      if (webhook === null || maskWebhook(webhook) === webhook) continue;
      const name = variableNamed([gateway.name, budget, "webhook"], taken);
      variables.push({ name, place: `gateway ${gateway.name}, budget ${budget}, webhook` });
      const path = formatPath(["gateways", gatewayIndex, "budgets", index, "webhook"]);
      references.set(path, `\${${name}:-${maskWebhook(webhook)}}`);
    }
    for (const [upstreamIndex, upstream] of gateway.upstreams.entries()) {
      for (const [index, target] of upstream.targets.entries()) {
        const owner = `gateway ${gateway.name}, upstream ${upstream.name}, target ${index + 1} (${target.provider})`;
        const targetPath = ["gateways", gatewayIndex, "upstreams", upstreamIndex, "targets", index];
        for (const { value, place } of secretsOf(target)) {
          const name = variableFor([gateway.name, upstream.name, target.provider], place, taken);
          variables.push({ name, place: [owner, ...labelOfPlace(place)].join(", ") });
          const field =
            place.header === null ? ["credentials", place.member ?? ""] : ["headers", place.header];
          references.set(formatPath([...targetPath, ...field]), referenceTo(name, value));
        }
      }
    }
  }
  return { references, variables };
}

function labelOfPlace({ header, member }: SecretPlace): string[] {
  if (header !== null) return [`header ${header}`];
  return member === null || member === "header_value" ? [] : [member];
}

/** Returns an unused variable name such as `ACME_MODELS_OPENAI_KEY` or `ACME_MODELS_AZURE_CLIENT_SECRET`. */
function variableFor(owner: readonly string[], { header, member }: SecretPlace, taken: Set<string>): string {
  const own = member === "header_value" || member === null ? [header ?? "", "KEY"] : [member];
  return variableNamed([...owner, ...own], taken);
}

function variableNamed(parts: readonly string[], taken: Set<string>): string {
  const words = parts.map((part) =>
    part
      .toUpperCase()
      .replaceAll(/[^A-Z0-9]+/g, "_")
      .replaceAll(/^_+|_+$/g, ""),
  );
  const stem = words
    .filter((word) => word !== "")
    .join("_")
    .replace(/_KEY_KEY$/, "_KEY")
    .replace(/^(?=[0-9])/, "_");
  let name = stem;
  for (let number = 2; taken.has(name); number++) name = `${stem}_${number}`;
  taken.add(name);
  return name;
}

/** The default of the reference is the mask: if the variable is not set, the stored credential is kept. */
function referenceTo(name: string, secret: string): string {
  const mask = maskSecret(secret);
  // The default value ends at the first closing brace.
  return `\${${name}:-${/[{}]/.test(mask) ? HIDDEN : mask}}`;
}
