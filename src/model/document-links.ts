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
import { ruleIdentity, ruleLabel, RuleNames } from "./rule-names.ts";
import { virtualModelProblems } from "./virtual-model-links.ts";

const MAX_SUGGESTIONS = 20;
const MAX_COMPARED_NAMES = 1000;
/** How many of the rules that a policy matches the message names. */
const MAX_CHOICES = 10;

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
  const missing = new MissingNames();
  return [
    ...documentProblems(gateways),
    ...gateways.flatMap((gateway, index) => gatewayProblems(gateway, `gateways[${index}]`, missing)),
  ];
}

/** Returns what must be unique in the whole document, but is not. */
function documentProblems(gateways: readonly LinkedGateway[]): ErrorDetail[] {
  const hashes = gateways.flatMap(({ api_keys = [] }, index) =>
    api_keys.map(({ key_sha256 }, at) => ({ index, at, key_sha256 })),
  );
  return [
    ...duplicates(
      gateways,
      ({ name }) => name,
      (index) => `gateways[${index}].name`,
    ),
    ...duplicates(
      gateways,
      ({ subdomain }) => subdomain,
      (index) => `gateways[${index}].subdomain`,
    ),
    ...duplicates(
      hashes,
      ({ key_sha256 }) => key_sha256,
      (_, { index, at }) => `gateways[${index}].api_keys[${at}].key_sha256`,
    ),
  ];
}

function gatewayProblems(gateway: LinkedGateway, place: string, missing: MissingNames): ErrorDetail[] {
  const { upstreams, mcp_servers, services, rules, models, budgets, api_keys = [] } = gateway;
  const named = (kind: string, list: readonly Named[]) =>
    duplicates(
      list,
      ({ name }) => name,
      (index) => `${place}.${kind}[${index}].name`,
    );
  const problems = [
    ...named("upstreams", upstreams),
    ...named("mcp_servers", mcp_servers),
    ...named("services", services),
    ...modelProblems(models, place),
    ...named("budgets", budgets),
    ...ruleProblems(rules, place),
    ...keyNameProblems(api_keys, place),
  ];
  const checkReferences = (what: string, known: readonly Named[]) => {
    const names = new Set(known.flatMap(({ name }) => name ?? []));
    // A record whose name is invalid may be the one.
    const isComplete = known.every(({ name }) => name !== null);
    return (name: string | null, pathOf: () => string) => {
      if (name === null || names.has(name) || !isComplete) return;
      problems.push({ path: pathOf(), message: missing.messageFor(what, name, names) });
    };
  };
  const checkUpstream = checkReferences("upstream", upstreams);
  const checkServer = checkReferences("MCP server", mcp_servers);
  const checkService = checkReferences("service", services);
  for (const [index, { upstream, mcp_servers: servers }] of services.entries()) {
    const at = `${place}.services[${index}]`;
    checkUpstream(upstream, () => `${at}.upstream`);
    for (const [number, server] of servers.entries())
      checkServer(server, () => `${at}.mcp_servers[${number}]`);
  }
  for (const [index, { service }] of rules.entries())
    checkService(service, () => `${place}.rules[${index}].service`);
  for (const { path, upstream } of modelReferences(models, place)) checkUpstream(upstream, () => path);
  problems.push(...policyProblems(rules, api_keys, place, missing));
  return problems;
}

function ruleProblems(rules: LinkedGateway["rules"], place: string): ErrorDetail[] {
  const identityOf = (rule: LinkedGateway["rules"][number]) =>
    isIdentified(rule) ? ruleIdentity(rule) : null;
  return [
    ...duplicates(
      rules,
      (rule) => (rule.name === null ? null : identityOf(rule)),
      (index) => `${place}.rules[${index}].name`,
    ),
    ...duplicates(
      rules,
      (rule) => (rule.name === null ? identityOf(rule) : null),
      (index) => `${place}.rules[${index}].path`,
      "rules that match the same requests must have names",
    ),
  ];
}

/** Returns the problems of API keys that refer to rules which do not exist or cannot be distinguished. */
function policyProblems(
  rules: LinkedGateway["rules"],
  keys: readonly LinkedApiKey[],
  place: string,
  missing: MissingNames,
): ErrorDetail[] {
  const problems: ErrorDetail[] = [];
  const identified = rules.filter(isIdentified);
  const ruleNames = new RuleNames(identified);
  let labels: ReadonlySet<string> | null = null;
  for (const [index, key] of keys.entries()) {
    if (key.prefix !== null && key.key_sha256 === null) {
      const message = "requires key_sha256; leave it out";
      problems.push({ path: `${place}.api_keys[${index}].prefix`, message });
    }
    for (const [at, policy] of key.policies.entries()) {
      const found = ruleNames.matching(policy);
      if (found.length === 1) continue;
      const path = `${place}.api_keys[${index}].policies[${at}]`;
      if (found.length === 0 && identified.length === rules.length) {
        labels ??= new Set(identified.map(ruleLabel));
        problems.push({ path, message: missing.messageFor("rule", policy, labels) });
      }
      // Rules with the same name are reported as duplicates.
      const choices = new Set(found.map((rule) => `"${ruleLabel(rule)}"`));
      if (choices.size > 1) problems.push({ path, message: severalMessage(policy, [...choices]) });
    }
  }
  return problems;
}

function severalMessage(policy: string, choices: readonly string[]): string {
  const left = choices.length - MAX_CHOICES;
  const shown = left > 0 ? [...choices.slice(0, MAX_CHOICES), `${left} more`] : choices;
  return `"${policy}" matches several rules; use ${shown.join(" or ")}`;
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
    keys,
    ({ name }) => (withoutHash.has(name) ? name : null),
    (index) => `${place}.api_keys[${index}].name`,
    "give them different names, or each of them its key_sha256",
  );
}

/** The messages about names that do not exist. Only the first ones have a suggestion: the search takes long if there are many names. */
class MissingNames {
  #suggestionsLeft = MAX_SUGGESTIONS;
  readonly #messages = new Map<ReadonlySet<string>, Map<string, string>>();

  messageFor(what: string, name: string, known: ReadonlySet<string>): string {
    const messages = this.#messages.get(known) ?? new Map<string, string>();
    this.#messages.set(known, messages);
    const message =
      messages.get(name) ??
      `there is no ${what} "${name}" in this gateway of the document${this.#hint(name, known)}`;
    messages.set(name, message);
    return message;
  }

  #hint(name: string, known: ReadonlySet<string>): string {
    if (this.#suggestionsLeft-- <= 0) return "";
    const nearest = nearestName(name, known.values().take(MAX_COMPARED_NAMES));
    return nearest === null ? "" : `; did you mean "${nearest}"?`;
  }
}

/** Returns a problem for each value that occurs again. Null values are ignored. */
function duplicates<T>(
  records: readonly T[],
  valueOf: (record: T) => string | null,
  pathOf: (index: number, record: T) => string,
  fix = "these must differ",
): ErrorDetail[] {
  const problems: ErrorDetail[] = [];
  const first = new Map<string, readonly [index: number, record: T]>();
  for (const [index, record] of records.entries()) {
    const value = valueOf(record);
    if (value === null) continue;
    const known = first.get(value);
    if (known === undefined) first.set(value, [index, record]);
    else
      problems.push({ path: pathOf(index, record), message: `is the same as ${pathOf(...known)}; ${fix}` });
  }
  return problems;
}
