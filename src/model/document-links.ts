// What names mean inside a document: who is called alike, and who refers to nobody.
import type { ErrorDetail } from "../base/errors.ts";
import { nearestName } from "../base/nearest-name.ts";
import type { ConfigurationDocument, DocumentGateway } from "./document.ts";
import type { RuleFields } from "./rule.ts";

type RuleIdentity = Pick<RuleFields, "name" | "path" | "methods" | "headers">;

/** What tells a rule from others: its name; without one its methods and path, and the headers that it asks for. */
export function ruleLabel({ name, path, methods, headers }: RuleIdentity): string {
  if (name !== null) return name;
  const asked = Object.entries(headers)
    .map(([header, value]) => `${header.toLowerCase()}=${value}`)
    .sort();
  return `${[...methods].sort().join(",")} ${path}${asked.length === 0 ? "" : ` [${asked.join(", ")}]`}`;
}

/** A named rule and an unnamed one are never the same, whatever they are called. */
export function ruleIdentity(rule: RuleIdentity): string {
  return `${rule.name === null ? "unnamed" : "named"} ${ruleLabel(rule)}`;
}

/** The rules that a policy may mean: those of that name, else of that label, else of that path. */
export function rulesMeant<T extends RuleIdentity>(rules: readonly T[], policy: string): T[] {
  const named = rules.filter(({ name }) => name === policy);
  if (named.length > 0) return named;
  const labelled = rules.filter((rule) => ruleLabel(rule) === policy);
  return labelled.length > 0 ? labelled : rules.filter(({ path }) => path === policy);
}

/** The shortest text that means this rule and no other of them. */
export function policyFor<T extends RuleIdentity>(rule: T, rules: readonly T[]): string {
  const meant = rulesMeant(rules, rule.path);
  return rule.name === null && meant.length === 1 && meant[0] === rule ? rule.path : ruleLabel(rule);
}

/** Every name given twice and every reference that leads nowhere, each at its place. */
export function linkProblems({ gateways }: ConfigurationDocument): ErrorDetail[] {
  const hashes = gateways.flatMap(({ api_keys = [] }, index) =>
    api_keys.map(
      ({ key_sha256 }, at) => [`gateways[${index}].api_keys[${at}].key_sha256`, key_sha256] as const,
    ),
  );
  return [
    ...twice(gateways.map(({ name }, index) => [`gateways[${index}].name`, name])),
    ...twice(gateways.map(({ subdomain }, index) => [`gateways[${index}].subdomain`, subdomain])),
    ...twice(hashes),
    ...gateways.flatMap((gateway, index) => gatewayFaults(gateway, `gateways[${index}]`)),
  ];
}

function gatewayFaults(gateway: DocumentGateway, place: string): ErrorDetail[] {
  const { upstreams, services, rules, api_keys = [] } = gateway;
  const named = (kind: string, list: readonly { name: string }[]) =>
    twice(list.map(({ name }, index) => [`${place}.${kind}[${index}].name`, name]));
  const matched = rules.map((rule, index) => {
    const field = rule.name === null ? "path" : "name";
    return [`${place}.rules[${index}].${field}`, ruleIdentity(rule)] as const;
  });
  const unnamed = (path: string) => path.endsWith(".path");
  const problems = [
    ...named("upstreams", upstreams),
    ...named("services", services),
    ...twice(matched.filter(([path]) => !unnamed(path))),
    ...twice(
      matched.filter(([path]) => unnamed(path)),
      "rules that match the same need names",
    ),
    ...named("api_keys", api_keys),
  ];
  const look = (path: string, what: string, name: string, known: readonly { name: string }[]) => {
    const names = known.map((each) => each.name);
    if (!names.includes(name)) problems.push({ path, message: missing(what, name, names) });
  };
  for (const [index, { upstream }] of services.entries())
    look(`${place}.services[${index}].upstream`, "upstream", upstream, upstreams);
  for (const [index, { service }] of rules.entries())
    look(`${place}.rules[${index}].service`, "service", service, services);
  for (const [index, key] of api_keys.entries()) {
    if (key.prefix !== null && key.key_sha256 === null) {
      const message = "tells nothing without key_sha256; leave it out";
      problems.push({ path: `${place}.api_keys[${index}].prefix`, message });
    }
    for (const [at, policy] of key.policies.entries()) {
      const path = `${place}.api_keys[${index}].policies[${at}]`;
      const meant = rulesMeant(rules, policy);
      if (meant.length === 0) problems.push({ path, message: missing("rule", policy, rules.map(ruleLabel)) });
      // Rules that are called alike are a fault of their own.
      const labels = new Set(meant.map((rule) => `"${ruleLabel(rule)}"`));
      if (labels.size > 1)
        problems.push({
          path,
          message: `"${policy}" may be several rules; give ${[...labels].join(" or ")}`,
        });
    }
  }
  return problems;
}

function missing(what: string, name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  const hint = nearest === null ? "" : `; did you mean "${nearest}"?`;
  return `there is no ${what} "${name}" in this gateway of the document${hint}`;
}

/** Of values that must differ, each that was there before. Null is no value. */
function twice(
  values: readonly (readonly [path: string, value: string | null])[],
  mend = "these must differ",
): ErrorDetail[] {
  const first = new Map<string, string>();
  return values.flatMap(([path, value]) => {
    if (value === null) return [];
    const known = first.get(value);
    if (known !== undefined) return [{ path, message: `is the same as ${known}; ${mend}` }];
    first.set(value, path);
    return [];
  });
}
