// Warnings about rules: alone, beside other rules, and with the targets that they lead to.
import { permissionFor, type Endpoint, type Operation } from "../../formats/operations.ts";
import { ANY_METHOD } from "../../model/http-methods.ts";
import type { Rule } from "../../model/rule.ts";
import { missingEndpoint, pathWarnings } from "./target-path-warnings.ts";
import { usedTargets, type RoutedRule } from "./routed-rule.ts";
import type { ConfigurationWarning } from "./warning.ts";

/** A rule is compared with this many rules of the same pattern, so that the time stays linear in the number of rules. */
const MAX_COMPARED = 100;

/** Operations that only GET requests use, or that also have them. */
const WITHOUT_POST: ReadonlySet<Operation> = new Set(["models", "files", "batches", "fine_tuning"]);

/** Returns the rules that no request reaches, by id, with the rule that is used instead. `rules` are in order of precedence. */
export function unreachableRules(rules: readonly RoutedRule[]): Map<string, RoutedRule> {
  const unreachable = new Map<string, RoutedRule>();
  for (const group of Map.groupBy(rules, ({ pattern }) => pattern).values()) {
    for (const [index, rule] of group.entries()) {
      const winner = group.slice(0, Math.min(index, MAX_COMPARED)).find((other) => covers(other, rule));
      if (winner !== undefined) unreachable.set(rule.rule.id, winner);
    }
  }
  return unreachable;
}

/** Whether each request that matches `rule` also matches `other`. */
function covers(other: RoutedRule, rule: RoutedRule): boolean {
  if (![...rule.methods].every((method) => other.methods.has(method))) return false;
  const required = new Map(headersOf(rule));
  return headersOf(other).every(
    ([name, value]) => required.has(name) && (value === "*" || required.get(name) === value),
  );
}

function headersOf({ rule }: RoutedRule): (readonly [string, string])[] {
  return Object.entries(rule.headers).map(([name, value]) => [name.toLowerCase(), value]);
}

/** Returns the patterns of the rules that match POST requests; null if a prefix among them may match any path. */
export function patternsWithPost(rules: readonly RoutedRule[]): ReadonlySet<string> | null {
  const matching = rules.filter(({ methods }) => methods.has("POST"));
  if (matching.some(({ isPrefix }) => isPrefix)) return null;
  return new Set(matching.map(({ pattern }) => pattern));
}

/** `winner` is the rule that is used instead, if no request reaches this one. */
export function ruleWarnings(
  routed: RoutedRule,
  withPost: ReadonlySet<string> | null,
  winner: RoutedRule | null,
): ConfigurationWarning[] {
  const { rule } = routed;
  if (winner !== null) {
    const name = winner.rule.name ?? winner.rule.path;
    const message = `no request reaches this rule: "${name}" matches the same requests and comes first`;
    return [{ places: [{ recordId: rule.id, path: "path" }], message }];
  }
  return [
    ...methodWarnings(routed, withPost),
    ...operationWarnings(routed),
    ...missingEndpoint(routed),
    ...pathWarnings(routed),
  ];
}

/** For every rule, also those that lead to MCP servers. */
export function unguardedWarnings({ id, path, unguarded }: Rule): ConfigurationWarning[] {
  if (unguarded.length === 0) return [];
  const message = `texts of requests to ${path} pass plugins that cannot inspect them: ${unguarded.join(", ")}`;
  return [{ places: [{ recordId: id, path: "unguarded" }], message }];
}

function methodWarnings(routed: RoutedRule, withPost: ReadonlySet<string> | null): ConfigurationWarning[] {
  const { rule, endpoint, isPrefix, pattern } = routed;
  if (isPrefix || endpoint === null || withPost === null || withPost.has(pattern)) return [];
  if (WITHOUT_POST.has(endpoint.operation) || isForOtherMethods(endpoint)) return [];
  const message = `requests to ${rule.path} have the method POST, which no rule for this path matches`;
  return [{ places: [{ recordId: rule.id, path: "methods" }], message }];
}

/** Whether the endpoint lists, shows or deletes objects. */
function isForOtherMethods(endpoint: Endpoint): boolean {
  return [permissionFor(endpoint, "GET"), permissionFor(endpoint, "DELETE")].includes(endpoint.operation);
}

function operationWarnings({
  rule,
  service,
  upstream,
  endpoint,
  isPrefix,
}: RoutedRule): ConfigurationWarning[] {
  const hasEndpoints = upstream.targets.some(({ path }) => path === null);
  const places = [
    { recordId: rule.id, path: "operations" },
    { recordId: service.id, path: "upstream_id" },
    ...usedTargets(upstream).map(({ index }) => ({ recordId: upstream.id, path: `targets[${index}].path` })),
  ];
  if (rule.operations.length > 0 && !hasEndpoints) {
    const message = `operations of the rule ${rule.path} has no effect: all targets have a path, where the rule allows all operations`;
    return [{ places, message }];
  }
  if (!hasEndpoints || endpoint === null) return [];
  // Below a prefix there are objects, which may be read.
  const requested = isPrefix ? { ...endpoint, tail: `${endpoint.tail}/{id}` } : endpoint;
  const isRejected = (method: string) =>
    permissionFor(requested, method === ANY_METHOD ? "POST" : method) === endpoint.operation;
  // The gateway itself responds to requests for models.
  if (endpoint.operation === "models" || !rule.methods.every(isRejected)) return [];
  if (rule.operations.includes(endpoint.operation)) return [];
  const message = `requests to ${rule.path} are rejected unless operations contains "${endpoint.operation}"`;
  return [{ places: places.slice(0, 1), message }];
}
