// Resolves names inside a document, and finds duplicate names and references to missing records.
import type { ErrorDetail } from "../base/errors.ts";
import { nearestName } from "../base/nearest-name.ts";
import {
  isIdentified,
  linkedDocumentSchema,
  type LinkedApiKey,
  type LinkedDocument,
  type LinkedGateway,
  type Named,
} from "./linked-document.ts";
import type { RuleFields } from "./rule.ts";
import { virtualModelProblems } from "./virtual-model-links.ts";

type RuleIdentity = Pick<RuleFields, "name" | "path" | "headers"> & { readonly methods: readonly string[] };

/** Returns what identifies a rule for people: its name, or its methods, path, and required headers. */
export function ruleLabel({ name, path, methods, headers }: RuleIdentity): string {
  if (name !== null) return name;
  const required = Object.entries(headers)
    .map(([header, value]) => `${header.toLowerCase()}=${value}`)
    .sort();
  return `${[...methods].sort().join(",")} ${path}${required.length === 0 ? "" : ` [${required.join(", ")}]`}`;
}

/** Returns a key that is different for every rule: the name of one rule may equal the label of an unnamed one. */
export function ruleIdentity(rule: RuleIdentity): string {
  return `${rule.name === null ? "unnamed" : "named"} ${ruleLabel(rule)}`;
}

/** Returns the rules that a policy refers to: those with that name, else with that label, else with that path. */
export function rulesMatching<T extends RuleIdentity>(rules: readonly T[], policy: string): T[] {
  const named = rules.filter(({ name }) => name === policy);
  if (named.length > 0) return named;
  const labeled = rules.filter((rule) => ruleLabel(rule) === policy);
  return labeled.length > 0 ? labeled : rules.filter(({ path }) => path === policy);
}

/** Returns the shortest text that refers to this rule only. */
export function policyFor<T extends RuleIdentity>(rule: T, rules: readonly T[]): string {
  const found = rulesMatching(rules, rule.path);
  return rule.name === null && found.length === 1 && found[0] === rule ? rule.path : ruleLabel(rule);
}

/**
 * Returns the link problems of a document that has other problems, too. `fields` are those; a field with such a problem is not
 * reported again.
 */
export function linkProblemsBeside(fields: readonly ErrorDetail[], document: unknown): ErrorDetail[] {
  const invalid = new Set(fields.map(({ path }) => path));
  return linkProblems(linkedDocumentSchema.parse(document)).filter(({ path }) => !invalid.has(path));
}

/** Returns all duplicate names and all references to missing records. */
export function linkProblems({ gateways }: LinkedDocument): ErrorDetail[] {
  const hashes = gateways.flatMap(({ api_keys = [] }, index) =>
    api_keys.map(
      ({ key_sha256 }, at) => [`gateways[${index}].api_keys[${at}].key_sha256`, key_sha256] as const,
    ),
  );
  return [
    ...duplicates(gateways.map(({ name }, index) => [`gateways[${index}].name`, name])),
    ...duplicates(gateways.map(({ subdomain }, index) => [`gateways[${index}].subdomain`, subdomain])),
    ...duplicates(hashes),
    ...gateways.flatMap((gateway, index) => gatewayProblems(gateway, `gateways[${index}]`)),
  ];
}

function gatewayProblems(gateway: LinkedGateway, place: string): ErrorDetail[] {
  const { upstreams, mcp_servers, services, rules, models, budgets, api_keys = [] } = gateway;
  const named = (kind: string, list: readonly Named[]) =>
    duplicates(list.map(({ name }, index) => [`${place}.${kind}[${index}].name`, name]));
  const matched = rules.map((rule, index) => {
    const field = rule.name === null ? "path" : "name";
    return [`${place}.rules[${index}].${field}`, isIdentified(rule) ? ruleIdentity(rule) : null] as const;
  });
  const unnamed = (path: string) => path.endsWith(".path");
  const problems = [
    ...named("upstreams", upstreams),
    ...named("mcp_servers", mcp_servers),
    ...named("services", services),
    ...modelProblems(models, place),
    ...named("budgets", budgets),
    ...duplicates(matched.filter(([path]) => !unnamed(path))),
    ...duplicates(
      matched.filter(([path]) => unnamed(path)),
      "rules that match the same requests must have names",
    ),
    ...keyNameProblems(api_keys, place),
  ];
  const checkReference = (path: string, what: string, name: string | null, known: readonly Named[]) => {
    const names = known.flatMap((each) => each.name ?? []);
    // A record whose name is invalid may be the one.
    if (name === null || names.includes(name) || names.length < known.length) return;
    problems.push({ path, message: missingMessage(what, name, names) });
  };
  for (const [index, { upstream, mcp_servers: servers }] of services.entries()) {
    const at = `${place}.services[${index}]`;
    checkReference(`${at}.upstream`, "upstream", upstream, upstreams);
    for (const [number, server] of servers.entries())
      checkReference(`${at}.mcp_servers[${number}]`, "MCP server", server, mcp_servers);
  }
  for (const [index, { service }] of rules.entries())
    checkReference(`${place}.rules[${index}].service`, "service", service, services);
  for (const { path, upstream } of modelReferences(models, place))
    checkReference(path, "upstream", upstream, upstreams);
  problems.push(...policyProblems(rules, api_keys, place));
  return problems;
}

/** Returns the problems of API keys that refer to rules which do not exist or cannot be distinguished. */
function policyProblems(
  rules: LinkedGateway["rules"],
  keys: readonly LinkedApiKey[],
  place: string,
): ErrorDetail[] {
  const problems: ErrorDetail[] = [];
  const identified = rules.filter(isIdentified);
  for (const [index, key] of keys.entries()) {
    if (key.prefix !== null && key.key_sha256 === null) {
      const message = "requires key_sha256; leave it out";
      problems.push({ path: `${place}.api_keys[${index}].prefix`, message });
    }
    for (const [at, policy] of key.policies.entries()) {
      const path = `${place}.api_keys[${index}].policies[${at}]`;
      const found = rulesMatching(identified, policy);
      if (found.length === 0 && identified.length === rules.length)
        problems.push({ path, message: missingMessage("rule", policy, identified.map(ruleLabel)) });
      // Rules with the same name are reported as duplicates.
      const labels = new Set(found.map((rule) => `"${ruleLabel(rule)}"`));
      if (labels.size > 1)
        problems.push({
          path,
          message: `"${policy}" matches several rules; use ${[...labels].join(" or ")}`,
        });
    }
  }
  return problems;
}

/** Returns the upstreams that virtual models name, with their paths. */
function modelReferences(models: LinkedGateway["models"], place: string) {
  return models.flatMap(({ targets, canary, mirror }, index) => {
    const at = `${place}.models[${index}]`;
    const further = { "canary.target": canary?.target, "mirror.target": mirror?.target };
    const all = [...targets.map((target, number) => [`targets[${number}]`, target] as const)];
    return [...all, ...Object.entries(further)].map(([name, target]) => ({
      path: `${at}.${name}.upstream`,
      upstream: target?.upstream ?? null,
    }));
  });
}

/** Not reported if a name is invalid: it may be the one that others refer to. */
function modelProblems(models: LinkedGateway["models"], place: string): ErrorDetail[] {
  const named = models.flatMap((model) => (model.name === null ? [] : { ...model, name: model.name }));
  if (named.length < models.length) return [];
  return virtualModelProblems(named).map(({ index, path, message }) => ({
    path: `${place}.models[${index}].${path}`,
    message,
  }));
}

/** API keys may have the same name if their hashes distinguish them. */
function keyNameProblems(keys: readonly LinkedApiKey[], place: string): ErrorDetail[] {
  const withoutHash = new Set(keys.filter(({ key_sha256 }) => key_sha256 === null).map(({ name }) => name));
  return duplicates(
    keys.map(({ name }, index) => [`${place}.api_keys[${index}].name`, withoutHash.has(name) ? name : null]),
    "give them different names, or each of them its key_sha256",
  );
}

function missingMessage(what: string, name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  const hint = nearest === null ? "" : `; did you mean "${nearest}"?`;
  return `there is no ${what} "${name}" in this gateway of the document${hint}`;
}

/** Returns a problem for each value that occurs again. Null values are ignored. */
function duplicates(
  values: readonly (readonly [path: string, value: string | null])[],
  fix = "these must differ",
): ErrorDetail[] {
  const first = new Map<string, string>();
  return values.flatMap(([path, value]) => {
    if (value === null) return [];
    const known = first.get(value);
    if (known !== undefined) return [{ path, message: `is the same as ${known}; ${fix}` }];
    first.set(value, path);
    return [];
  });
}
