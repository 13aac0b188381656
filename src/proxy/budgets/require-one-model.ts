// Requires that a request names one model only: with several, a client could have a cheap one counted and an expensive one run.
import { GatehouseError } from "../../base/errors.ts";
import type { Endpoint } from "../../formats/operations.ts";
import type { CompiledBudget } from "../../snapshot/compiled-budget.ts";
import type { CompiledTarget } from "../../snapshot/compile-upstream.ts";
import type { CompiledRule } from "../../snapshot/compiled-rule.ts";
import { candidatesFor } from "../attempt.ts";
import type { Exchange } from "../exchange.ts";
import type { ModelProblem } from "../model-problems.ts";
import { modelRunBy, modelsNamedInUrl } from "../named-models.ts";
import { endpointAt } from "../request-endpoint.ts";
import { mayNameModel } from "../request-target-models.ts";
import { virtualRouteOf } from "../virtual-models/find-route.ts";
import type { VirtualRoute } from "../virtual-models/virtual-route.ts";

const MAX_SHOWN = 3;
const MAX_SHOWN_LENGTH = 100;

/** What decides about the path at a target, and whether it may name a model. */
interface CheckedPath {
  readonly rule: CompiledRule;
  readonly sentPath: string;
  readonly endpoint: Endpoint | null;
  readonly hasMessages: boolean;
  readonly mayName: boolean;
}

/** The last request to each target: many in a row have the same path. */
const checkedPaths = new WeakMap<CompiledTarget, CheckedPath>();

/** Whether the model decides how much of an enforced budget a request uses. */
export function dependsOnModel({ record, isEnforced }: CompiledBudget): boolean {
  return isEnforced && (record.unit === "usd" || record.models !== null || record.scope === "model");
}

/** Throws if the model that a target runs may be another one than the gateway counts. */
export function requireOneModel(exchange: Exchange, rule: CompiledRule): void {
  const problem = modelProblemOf(exchange, rule);
  if (problem !== null) throw new GatehouseError(problem.code, problem.message);
}

/**
 * Returns why the model that a target runs may be another one than the gateway counts, because the request names several: in the path, the
 * query, and the fields of the body. Throws if no target may serve the request.
 */
export function modelProblemOf(exchange: Exchange, rule: CompiledRule): ModelProblem | null {
  const { modelProblem } = exchange.fields;
  // Any other body has no price, or is free.
  if (modelProblem !== null && modelProblem.mayNameModel) return modelProblem;
  const route = exchange.route ?? (rule.virtualModels === null ? null : virtualRouteOf(exchange, rule));
  if (route !== null) return problemOfLegs(exchange, route);
  const { preferred, fallback } = candidatesFor(exchange, rule);
  return problemAmong(exchange, rule, preferred) ?? problemAmong(exchange, rule, fallback);
}

/** The targets of a virtual model get its model in the body only. */
function problemOfLegs(exchange: Exchange, { legs }: VirtualRoute): ModelProblem | null {
  for (const leg of legs.flat())
    for (const target of leg.rule.upstream.targets) {
      const problem = problemAt(exchange, leg.rule, target);
      if (problem !== null) return problem;
    }
  return null;
}

function problemAmong(
  exchange: Exchange,
  rule: CompiledRule,
  indexes: readonly number[],
): ModelProblem | null {
  for (const index of indexes) {
    const problem = problemAt(exchange, rule, rule.upstream.targets[index]);
    if (problem !== null) return problem;
  }
  return null;
}

function problemAt(
  exchange: Exchange,
  rule: CompiledRule,
  target: CompiledTarget | undefined,
): ModelProblem | null {
  if (target === undefined || mayNameOnlyOne(exchange, rule, target)) return null;
  const counted = modelRunBy(exchange, rule, target);
  const others = [...modelsNamedInUrl(exchange, rule, target), ...exchange.fields.furtherModels];
  return others.every((other) => other === counted)
    ? null
    : severalModels([...new Set([counted, ...others])]);
}

/** A cheap test that most requests pass: the only model is the field of the body. */
function mayNameOnlyOne(exchange: Exchange, rule: CompiledRule, target: CompiledTarget): boolean {
  const { fields, handshake, sentQuery } = exchange;
  if (handshake !== null || sentQuery !== "" || fields.furtherModels.length > 0) return false;
  const checked = checkedPaths.get(target);
  const isKnown = checked !== undefined && isSamePath(checked, exchange, rule);
  return !(isKnown ? checked.mayName : mayNameIn(exchange, rule, target));
}

function isSamePath(
  checked: CheckedPath,
  { sentPath, endpoint, fields }: Exchange,
  rule: CompiledRule,
): boolean {
  if (checked.rule !== rule || checked.endpoint !== endpoint) return false;
  return checked.sentPath === sentPath && checked.hasMessages === fields.hasMessages;
}

function mayNameIn(exchange: Exchange, rule: CompiledRule, target: CompiledTarget): boolean {
  const { path, format } = endpointAt(exchange, rule, target);
  const mayName = mayNameModel(target.baseUrl + path);
  const { sentPath, endpoint, fields } = exchange;
  // The paths of other formats depend on the model of the request.
  if (format.completePath === null)
    checkedPaths.set(target, { rule, sentPath, endpoint, hasMessages: fields.hasMessages, mayName });
  return mayName;
}

function severalModels(named: readonly unknown[]): ModelProblem {
  const names = named.filter((name) => name !== null).slice(0, MAX_SHOWN);
  const shown = names.map((name) => JSON.stringify(name).slice(0, MAX_SHOWN_LENGTH));
  return {
    code: "bad_request",
    message: `The request names several models (${shown.join(", ")}), so that its limits and budgets cannot be applied. Name the same model in the path, the query and the body, and send no models or fallbacks.`,
    mayNameModel: true,
  };
}
