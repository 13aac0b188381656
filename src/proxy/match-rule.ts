// Finds the rule that serves a request: the best match of its gateway, or of the only gateway with a match.
import { GatehouseError } from "../base/errors.ts";
import { HTTP_METHODS } from "../model/http-methods.ts";
import type { CompiledGateway } from "../snapshot/compile.ts";
import type { CompiledRule } from "../snapshot/compiled-rule.ts";
import { routeKeysFor } from "../snapshot/route-table.ts";
import type { Exchange } from "./exchange.ts";

export interface Matched {
  readonly gateway: CompiledGateway;
  readonly rule: CompiledRule;
}

/** The part of an exchange that decides which rule matches. */
type RoutedRequest = Pick<Exchange, "path" | "method" | "request" | "snapshot">;

/** Throws 404, 405 or 400 if no single rule matches. If `gateway` is null, the rules of all gateways are tried. */
export function matchRule(exchange: RoutedRequest, gateway: CompiledGateway | null): Matched {
  const { path, method, request, snapshot } = exchange;
  const only = gateway ?? snapshot.onlyGateway;
  if (only !== null) {
    const match = only.routes.match(path, method, request.headers);
    if (match.rule === null) throw notMatched(exchange, match.allowed);
    return { gateway: only, rule: match.rule };
  }
  return matchAnyGateway(exchange);
}

function matchAnyGateway(exchange: RoutedRequest): Matched {
  // Two matches decide. The other gateways on the path, possibly thousands, are not tried.
  const [match, another] = findMatches(exchange, exchange.method, 2);
  if (another !== undefined) throw ambiguousGateway();
  if (match !== undefined) return match;
  throw notMatched(
    exchange,
    HTTP_METHODS.filter((method) => findMatches(exchange, method, 1).length > 0),
  );
}

/** Finds up to `limit` gateways that have a rule for the request with this method. */
function findMatches({ path, request, snapshot }: RoutedRequest, method: string, limit: number): Matched[] {
  const matches: Matched[] = [];
  for (const key of routeKeysFor(path, method, snapshot.patternDepth)) {
    for (const gateway of snapshot.gatewaysByRoute.get(key)?.values() ?? []) {
      // A gateway can be listed under several keys of one path.
      if (gateway === matches[0]?.gateway) continue;
      const { rule } = gateway.routes.match(path, method, request.headers);
      if (rule !== null && matches.push({ gateway, rule }) === limit) return matches;
    }
  }
  return matches;
}

function ambiguousGateway(): GatehouseError {
  return new GatehouseError(
    "ambiguous_gateway",
    "Several gateways have a rule for this request. Send the Host (subdomain) or an API key of one of them.",
  );
}

function notMatched({ method, path }: RoutedRequest, allowed: readonly string[]): GatehouseError {
  if (allowed.length === 0)
    return new GatehouseError("rule_not_found", `No rule matches ${method} ${path.slice(0, 200)}.`);
  const list = allowed.join(", ");
  return new GatehouseError(
    "method_not_allowed",
    `Method ${method} is not allowed for this path. Use ${list}.`,
    {
      headers: { Allow: list },
    },
  );
}

/** For steps after the rule is found. */
export function matchedGateway({ gateway }: Pick<Exchange, "gateway">): CompiledGateway {
  if (gateway === null) throw new Error("no gateway is matched yet");
  return gateway;
}

/** For steps after the rule is found. */
export function matchedRule({ rule }: Pick<Exchange, "rule">): CompiledRule {
  if (rule === null) throw new Error("no rule is matched yet");
  return rule;
}
