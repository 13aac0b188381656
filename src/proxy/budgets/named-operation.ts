// Whether the targets of a request run the operation that the path of the client names. Clients choose the path of a rule with a pattern, and
// operators that of any rule: limits and budgets must not depend on a name that says nothing about what is run.
import { endpointIn, type Endpoint, type Operation } from "../../formats/operations.ts";
import type { CompiledTarget, CompiledUpstream } from "../../snapshot/compile-upstream.ts";
import type { CompiledRule } from "../../snapshot/compiled-rule.ts";
import type { Exchange } from "../exchange.ts";
import { configuredPath } from "../request-endpoint.ts";
import { virtualRouteOf } from "../virtual-models/find-route.ts";

/** Returns what the path of the client names if `among` has its operation and every target runs it; else null. */
export function namedEndpoint(
  exchange: Exchange,
  rule: CompiledRule,
  among: ReadonlySet<Operation>,
): Endpoint | null {
  const endpoint = exchange.endpoint ?? endpointIn(exchange.path);
  if (endpoint === null || !among.has(endpoint.operation)) return null;
  return isRun(exchange, rule, endpoint) ? endpoint : null;
}

/** Whether every target that may get the request runs the operation. */
export function isRun(exchange: Exchange, rule: CompiledRule, endpoint: Endpoint): boolean {
  const route = exchange.route ?? (rule.virtualModels === null ? null : virtualRouteOf(exchange, rule));
  if (route === null) return isRunAtAll(exchange, rule, endpoint);
  return route.legs.every((legs) => legs.every((leg) => isRunAtAll(exchange, leg.rule, endpoint)));
}

/** Whether no target has a path of its own. A loop: several steps of a request need it. */
export function isPathSent({ targets }: CompiledUpstream): boolean {
  for (const { path } of targets) if (path !== null) return false;
  return true;
}

/** A loop: most requests need it. */
function isRunAtAll(exchange: Exchange, rule: CompiledRule, endpoint: Endpoint): boolean {
  for (const target of rule.upstream.targets) if (!isRunAt(exchange, rule, target, endpoint)) return false;
  return true;
}

function isRunAt(
  exchange: Exchange,
  rule: CompiledRule,
  target: CompiledTarget,
  endpoint: Endpoint,
): boolean {
  const { endpoints, baseUrl } = target;
  if (endpoints === null)
    return endpointIn(baseUrl + configuredPath(exchange, rule, target))?.operation === endpoint.operation;
  if (exchange.endpoint === null) return false;
  // A provider without the operation is not eligible, and the gateway counts tokens itself. A rule with one path leads to the chat endpoint.
  return rule.pathKind === "prefix" || endpoint.operation === "count_tokens" || endpoints.has(endpoint);
}
