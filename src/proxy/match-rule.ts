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
  const { path, method, request } = exchange;
  const allowed: string[] = [];
  let found: Matched | null = null;
  for (const candidate of gateway === null ? gatewaysFor(exchange) : [gateway]) {
    const match = candidate.routes.match(path, method, request.headers);
    if (match.rule === null) {
      allowed.push(...match.allowed);
      continue;
    }
    if (found !== null) {
      throw new GatehouseError(
        "ambiguous_gateway",
        "Several gateways have a rule for this request: send the Host of one (its subdomain) or an API key of one.",
      );
    }
    found = { gateway: candidate, rule: match.rule };
  }
  if (found !== null) return found;
  if (allowed.length === 0)
    throw new GatehouseError("rule_not_found", `No rule matches ${method} ${path.slice(0, 200)}.`);
  const list = [...new Set(allowed)].join(", ");
  throw new GatehouseError("method_not_allowed", `${method} is not possible here; use ${list}.`, {
    headers: { Allow: list },
  });
}

/** Every gateway with a rule that could match the path; usually one or none. */
function gatewaysFor({ path, snapshot }: Exchange): Iterable<CompiledGateway> {
  // Where there is only one, its own table says whether it has a rule.
  if (snapshot.gateways.size === 1) return snapshot.gateways.values();
  let found: Iterable<CompiledGateway> | null = null;
  for (const key of routeKeysOf(path)) {
    const more = snapshot.gatewaysByRoute.get(key);
    if (more === undefined) continue;
    found = found === null ? more : new Set([...found, ...more]);
  }
  return found ?? [];
}
