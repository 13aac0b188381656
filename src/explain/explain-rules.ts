// Why each rule of a gateway serves a request or does not: the first difference, in the order in which matching looks.
import type { GatehouseError } from "../base/errors.ts";
import type { ExplainedRule } from "../model/explanation.ts";
import type { Rule } from "../model/rule.ts";
import type { CompiledGateway } from "../snapshot/compile.ts";
import type { CompiledRule } from "../snapshot/compiled-rule.ts";
import { missingHeader } from "../snapshot/route-table.ts";
import type { Exchange } from "../proxy/exchange.ts";

const MAX_RULES = 200;
const KINDS = {
  exact: "an exact path",
  parameters: "a path with parameters",
  prefix: "a prefix",
} as const;

/** Those whose path fits first, the best of them at the head. `serving` null: none does, and `fault` may be why. */
export function explainRules(
  exchange: Exchange,
  gateway: CompiledGateway,
  serving: CompiledRule | null,
  error: GatehouseError | null,
): ExplainedRule[] {
  const fitting = gateway.routes.candidates(exchange.path);
  const fits = new Set(fitting.map(({ id }) => id));
  const told = fitting.slice(0, MAX_RULES).map((candidate): ExplainedRule => {
    const matched = serving?.id === candidate.id;
    const reason = reasonFor(exchange, candidate, serving, error);
    return { id: candidate.id, path: candidate.rule.path, matched, reason };
  });
  for (const rule of gateway.parts.rules) {
    if (told.length >= MAX_RULES) break;
    if (fits.has(rule.id)) continue;
    const reason = rule.active ? `the path ${shorten(exchange.path)} does not fit` : "the rule is not active";
    told.push({ id: rule.id, path: rule.path, matched: false, reason });
  }
  return told;
}

function reasonFor(
  exchange: Exchange,
  candidate: CompiledRule,
  serving: CompiledRule | null,
  error: GatehouseError | null,
): string {
  const { method, request } = exchange;
  if (!candidate.methods.has(method))
    return `${method} is not among its methods, ${[...candidate.methods].join(", ")}`;
  const missing = missingHeader(candidate, request.headers);
  if (missing !== null) {
    if (!request.headers.has(missing)) return `the header ${missing} is missing`;
    const wanted = candidate.headers.find(([name]) => name === missing)?.[1] ?? "";
    return `the header ${missing} is not "${wanted}"`;
  }
  if (serving === null) {
    if (error?.code === "ambiguous_gateway") return "it fits, and so does a rule of another gateway";
    return "it fits, but no rule is asked: the request ends before";
  }
  if (serving.id === candidate.id) return "it serves this request";
  return `${nameOf(serving.rule)} serves before it: ${whyFirst(serving, candidate)}`;
}

/** In the order of precedence; see RouteTable and byPrecedence in compile.ts. */
function whyFirst(serving: CompiledRule, candidate: CompiledRule): string {
  if (serving.pathKind !== candidate.pathKind)
    return `${KINDS[serving.pathKind]} beats ${KINDS[candidate.pathKind]}`;
  if (serving.pathKind === "prefix" && depthOf(serving) !== depthOf(candidate)) return "its prefix is longer";
  if (serving.rule.priority !== candidate.rule.priority)
    return `its priority ${serving.rule.priority} comes before ${candidate.rule.priority}`;
  if (serving.headers.length !== candidate.headers.length)
    return `it asks for more headers, ${serving.headers.length} against ${candidate.headers.length}`;
  return "it is older";
}

function depthOf({ rule }: CompiledRule): number {
  return rule.path.split("/").length;
}

function nameOf({ name, path, id }: Rule): string {
  return `the rule ${name === null ? path : `"${name}"`} (${id})`;
}

function shorten(path: string): string {
  return path.length > 200 ? `${path.slice(0, 200)}…` : path;
}
