// Explains for each rule of a gateway why it serves a request or does not: the first difference in matching order.
import type { GatehouseError } from "../base/errors.ts";
import { shorten } from "../base/shorten.ts";
import type { ExplainedRule } from "../model/explanation.ts";
import type { Rule } from "../model/rule.ts";
import type { CompiledGateway } from "../snapshot/compile.ts";
import type { CompiledRule } from "../snapshot/compiled-rule.ts";
import { missingHeader } from "../snapshot/route-table.ts";
import type { Exchange } from "../proxy/exchange.ts";

const MAX_RULES = 200;
const PATH_KINDS = {
  exact: "an exact path",
  parameters: "a path with parameters",
  prefix: "a prefix",
} as const;

/**
 * Lists the rules whose path matches first, by precedence. `serving` is null if no rule serves the request; `error` may
 * say why.
 */
export function explainRules(
  exchange: Exchange,
  gateway: CompiledGateway,
  serving: CompiledRule | null,
  error: GatehouseError | null,
): ExplainedRule[] {
  const candidates = gateway.routes.candidates(exchange.path);
  const candidateIds = new Set(candidates.map(({ id }) => id));
  const explained = candidates.slice(0, MAX_RULES).map((candidate): ExplainedRule => {
    const matched = serving?.id === candidate.id;
    const reason = reasonFor(exchange, candidate, serving, error);
    return { id: candidate.id, path: candidate.rule.path, matched, reason };
  });
  for (const rule of gateway.parts.rules) {
    if (explained.length >= MAX_RULES) break;
    if (candidateIds.has(rule.id)) continue;
    const reason = rule.active ? `path ${shorten(exchange.path)} does not match` : "rule is inactive";
    explained.push({ id: rule.id, path: rule.path, matched: false, reason });
  }
  return explained;
}

function reasonFor(
  exchange: Exchange,
  candidate: CompiledRule,
  serving: CompiledRule | null,
  error: GatehouseError | null,
): string {
  const { method, request } = exchange;
  if (!candidate.methods.has(method))
    return `method ${method} does not match; the rule has ${[...candidate.methods].join(", ")}`;
  const missing = missingHeader(candidate, request.headers);
  if (missing !== null) {
    if (!request.headers.has(missing)) return `header ${missing} is missing`;
    const expected = candidate.headers.find(([name]) => name === missing)?.[1] ?? "";
    return `header ${missing} is not "${expected}"`;
  }
  if (serving === null) {
    if (error?.code === "ambiguous_gateway") return "matches, but a rule of another gateway matches as well";
    return "matches, but the request ends before a rule is chosen";
  }
  if (serving.id === candidate.id) return "serves this request";
  return `${nameOf(serving.rule)} takes precedence: ${precedenceReason(serving, candidate)}`;
}

/** Compares in the order of precedence; see RouteTable and byPrecedence in compile.ts. */
function precedenceReason(serving: CompiledRule, candidate: CompiledRule): string {
  if (serving.pathKind !== candidate.pathKind)
    return `${PATH_KINDS[serving.pathKind]} beats ${PATH_KINDS[candidate.pathKind]}`;
  if (serving.pathKind === "prefix" && depthOf(serving) !== depthOf(candidate)) return "its prefix is longer";
  if (serving.rule.priority !== candidate.rule.priority)
    return `its priority ${serving.rule.priority} is before ${candidate.rule.priority}`;
  if (serving.headers.length !== candidate.headers.length)
    return `it requires more headers (${serving.headers.length} instead of ${candidate.headers.length})`;
  return "it is older";
}

function depthOf({ rule }: CompiledRule): number {
  return rule.path.split("/").length;
}

function nameOf({ name, path, id }: Rule): string {
  return `rule ${name === null ? path : `"${name}"`} (${id})`;
}
