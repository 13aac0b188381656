// Records as a document tells them: fields without ids, references by name, secrets as references to the environment.
import { z } from "zod";
import type { ErrorDetail } from "../base/errors.ts";
import type { ApiKey } from "./api-key.ts";
import { documentSchema } from "./document.ts";
import { policyFor, ruleIdentity, ruleLabel } from "./document-links.ts";
import { escapeReferences, mapTexts } from "./document-variables.ts";
import { showGateway, type Gateway } from "./gateway.ts";
import { READ_ONLY_FIELDS } from "./record.ts";
import type { Rule } from "./rule.ts";
import type { Service } from "./service.ts";
import { HIDDEN, maskSecret, type Target } from "./target.ts";
import type { Upstream } from "./upstream.ts";

type KeptApiKey = ApiKey & { readonly hash: string };

export interface GatewayRecords {
  readonly gateway: Gateway;
  readonly upstreams: readonly Upstream[];
  readonly services: readonly Service[];
  readonly rules: readonly Rule[];
  /** Only the active ones: a revoked key is nothing to be set up elsewhere. */
  readonly apiKeys: readonly KeptApiKey[];
}

/** A variable that stands for a secret. */
export interface SecretVariable {
  readonly name: string;
  /** `gateway acme, upstream models, target 1 (openai)` */
  readonly place: string;
}

function without(record: object, ...names: readonly string[]): Record<string, unknown> {
  const left = [...READ_ONLY_FIELDS, ...names];
  return Object.fromEntries(Object.entries(record).filter(([name]) => !left.includes(name)));
}

export function gatewayForm(gateway: Gateway): Record<string, unknown> {
  return without(showGateway(gateway));
}

/** With its credentials as they are: whoever shows it hides them. */
export function upstreamForm(upstream: Upstream) {
  return {
    ...without(upstream),
    targets: upstream.targets.map((target) => without(target) as unknown as Omit<Target, "id">),
  };
}

export function serviceForm({ upstream_id, ...service }: Service, upstreams: readonly Upstream[]) {
  return { ...without(service), upstream: nameOf(upstreams, upstream_id) };
}

export function ruleForm({ service_id, ...rule }: Rule, services: readonly Service[]) {
  return { ...without(rule), service: nameOf(services, service_id) };
}

export function apiKeyForm(
  { hash, ...key }: KeptApiKey,
  rules: readonly Rule[],
  policyOf: (rule: Rule) => string = ruleLabel,
) {
  const policies = key.policies.map((id) => {
    const rule = rules.find((each) => each.id === id);
    return rule === undefined ? id : policyOf(rule);
  });
  const fields = without(key, "subject", "subject_type", "active", "last_used_at");
  return { ...fields, policies, key_sha256: hash };
}

function nameOf(records: readonly { readonly id: string; readonly name: string }[], id: string): string {
  return records.find((each) => each.id === id)?.name ?? id;
}

/** Records that a document cannot tell apart. */
export function exportProblems(gateways: readonly GatewayRecords[]): ErrorDetail[] {
  const problems = twice(
    "gateways",
    "gateways",
    gateways.map(({ gateway }) => [gateway.name, gateway.id]),
  );
  for (const { gateway, upstreams, services, rules, apiKeys } of gateways) {
    const place = `of gateway "${gateway.name}"`;
    const named = (records: readonly { name: string; id: string }[]) =>
      records.map(({ name, id }) => [name, id] as const);
    problems.push(...twice("upstreams", `upstreams ${place}`, named(upstreams)));
    problems.push(...twice("services", `services ${place}`, named(services)));
    problems.push(...twice("api_keys", `API keys ${place}`, named(apiKeys)));
    const byIdentity = Map.groupBy(rules, ruleIdentity);
    for (const [first, ...others] of byIdentity.values())
      if (first !== undefined && others.length > 0)
        problems.push(
          alike(
            "rules",
            `rules ${place}`,
            ruleLabel(first),
            [first, ...others].map(({ id }) => id),
          ),
        );
  }
  return problems;
}

function twice(
  path: string,
  what: string,
  named: readonly (readonly [name: string, id: string])[],
): ErrorDetail[] {
  return [...Map.groupBy(named, ([name]) => name)].flatMap(([name, all]) =>
    all.length === 1
      ? []
      : [
          alike(
            path,
            what,
            name,
            all.map(([, id]) => id),
          ),
        ],
  );
}

function alike(path: string, what: string, name: string, ids: readonly string[]): ErrorDetail {
  return {
    path,
    message: `the ${what} ${ids.join(" and ")} are both "${name}"; give them names that differ`,
  };
}

/** The document, and the variables that it asks for. */
export function exportDocument(gateways: readonly GatewayRecords[]): {
  readonly document: Record<string, unknown>;
  readonly variables: readonly SecretVariable[];
} {
  const variables: SecretVariable[] = [];
  const taken = new Set<string>();
  const escaped = (form: unknown) => mapTexts(form, escapeReferences);
  const exported = gateways.map(({ gateway, upstreams, services, rules, apiKeys }) => ({
    ...(escaped(gatewayForm(gateway)) as object),
    upstreams: upstreams.map((upstream) => {
      const form = upstreamForm(upstream);
      const targets = form.targets.map((target, index) => {
        if (target.credentials === null) return escaped(target);
        const name = variableFor([gateway.name, upstream.name, target.provider], taken);
        const place = `gateway ${gateway.name}, upstream ${upstream.name}, target ${index + 1} (${target.provider})`;
        variables.push({ name, place });
        const credentials = {
          ...target.credentials,
          header_value: reference(name, target.credentials.header_value),
        };
        return { ...(escaped({ ...target, credentials: null }) as object), credentials };
      });
      return { ...(escaped({ ...form, targets: [] }) as object), targets };
    }),
    services: services.map((service) => escaped(serviceForm(service, upstreams))),
    rules: rules.map((rule) => escaped(ruleForm(rule, services))),
    api_keys: apiKeys.map((key) => escaped(apiKeyForm(key, rules, (rule) => policyFor(rule, rules)))),
  }));
  const document = compact(documentSchema, { version: 1, gateways: exported }) as Record<string, unknown>;
  return { document: { version: 1, ...document }, variables };
}

function variableFor(parts: readonly string[], taken: Set<string>): string {
  const words = parts.map((part) =>
    part
      .toUpperCase()
      .replaceAll(/[^A-Z0-9]+/g, "_")
      .replaceAll(/^_+|_+$/g, ""),
  );
  const stem = `${words.filter((word) => word !== "").join("_")}_KEY`
    .replace(/^(?=[0-9])/, "_")
    .replace(/^_KEY$/, "KEY");
  let name = stem;
  for (let number = 2; taken.has(name); number++) name = `${stem}_${number}`;
  taken.add(name);
  return name;
}

/** With the mask as its default: where nothing is set, the credential that is stored stays. */
function reference(name: string, secret: string): string {
  const mask = maskSecret(secret);
  // A default ends at its first brace.
  return `\${${name}:-${/[{}]/.test(mask) ? HIDDEN : mask}}`;
}

/** Leaves out what the schema would put in by itself; the rest in the order of the schema. */
function compact(schema: z.ZodType, value: unknown): unknown {
  if (schema instanceof z.ZodObject) {
    const fields = value as Record<string, unknown>;
    const kept = Object.entries(schema.shape as Record<string, z.ZodType>).flatMap(([name, field]) => {
      const isDefault = Bun.deepEquals(defaultOf(field), fields[name], true);
      return isDefault ? [] : [[name, compact(field, fields[name])] as const];
    });
    return Object.fromEntries(kept);
  }
  if (schema instanceof z.ZodArray)
    return (value as unknown[]).map((item) => compact(schema.element as z.ZodType, item));
  const isWrapped =
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodOptional;
  return isWrapped && value !== null ? compact(schema.unwrap() as z.ZodType, value) : value;
}

const NO_DEFAULT = Symbol("no default");
const defaults = new WeakMap<z.ZodType, unknown>();

function defaultOf(schema: z.ZodType): unknown {
  if (!defaults.has(schema)) {
    const parsed = schema.safeParse(undefined);
    defaults.set(schema, parsed.success ? parsed.data : NO_DEFAULT);
  }
  return defaults.get(schema);
}
