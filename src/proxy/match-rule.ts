// Which rule serves a request: the best match of its gateway, or of the only gateway that has one.
import { GatehouseError } from "../base/errors.ts";
import type { CompiledGateway } from "../snapshot/compile.ts";
import type { CompiledRule } from "../snapshot/compiled-rule.ts";
import { routeKeysOf } from "../snapshot/route-table.ts";
import type { Exchange } from "./exchange.ts";

export interface Matched {
  readonly gateway: CompiledGateway;
  readonly rule: CompiledRule;
}

/** Throws 404, 405 or 400 when no single rule serves. `gateway` null: every gateway's rules are tried. */
export function matchRule(exchange: Exchange, gateway: CompiledGateway | null): Matched {
  const { path, method, request, snapshot } = exchange;
  const only = gateway ?? snapshot.onlyGateway;
  if (only !== null) {
    const match = only.routes.match(path, method, request.headers);
    if (match.rule === null) throw notMatched(exchange, match.allowed);
    return { gateway: only, rule: match.rule };
  }
  return matchAnyGateway(exchange);
}

function matchAnyGateway(exchange: Exchange): Matched {
  const { path, method, request, snapshot } = exchange;
  const allowed: string[] = [];
  const matches: Matched[] = [];
  for (const key of routeKeysOf(path)) {
    for (const gateway of snapshot.gatewaysByRoute.get(key)?.values() ?? []) {
      // A gateway can be listed under several keys of one path.
      if (gateway === matches[0]?.gateway) continue;
      const match = gateway.routes.match(path, method, request.headers);
      if (match.rule === null) allowed.push(...match.allowed);
      // Two matches decide. The other gateways on the path, possibly thousands, are not tried.
      else if (matches.push({ gateway, rule: match.rule }) > 1) throw ambiguousGateway();
    }
  }
  const [match] = matches;
  if (match === undefined) throw notMatched(exchange, allowed);
  return match;
}

function ambiguousGateway(): GatehouseError {
  return new GatehouseError(
    "ambiguous_gateway",
    "Several gateways have a rule for this request: send the Host of one (its subdomain) or an API key of one.",
  );
}

function notMatched({ method, path }: Exchange, allowed: readonly string[]): GatehouseError {
  if (allowed.length === 0)
    return new GatehouseError("rule_not_found", `No rule matches ${method} ${path.slice(0, 200)}.`);
  const list = [...new Set(allowed)].join(", ");
  return new GatehouseError("method_not_allowed", `${method} is not possible here; use ${list}.`, {
    headers: { Allow: list },
  });
}
