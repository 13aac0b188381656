// Requires that a request names one model only: with several, a client could have a cheap one counted and a dear one run.
import { GatehouseError } from "../../base/errors.ts";
import type { Endpoint } from "../../formats/operations.ts";
import type { CompiledBudget } from "../../snapshot/compiled-budget.ts";
import type { CompiledTarget } from "../../snapshot/compile-upstream.ts";
import type { CompiledRule } from "../../snapshot/compiled-rule.ts";
import { modelsNamedIn } from "../allowed-models.ts";
import { candidatesFor } from "../attempt.ts";
import type { Exchange } from "../exchange.ts";
import { endpointAt } from "../request-endpoint.ts";
import { mayNameModel } from "../request-target-models.ts";
import { virtualRouteOf } from "../virtual-models/find-route.ts";

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

/** Throws if the request to one of its targets names several models: in the path, the query, and the fields of the body. */
export function requireOneModel(exchange: Exchange, rule: CompiledRule): void {
  const { modelProblem } = exchange.fields;
  // Any other body has no price, or is free.
  if (modelProblem !== null && modelProblem.mayNameModel)
    throw new GatehouseError(modelProblem.code, modelProblem.message);
  // The targets of a virtual model get its model.
  if (exchange.route !== null || virtualRouteOf(exchange, rule) !== null) return;
  const { preferred, fallback } = candidatesFor(exchange, rule);
  for (const index of preferred) requireOneModelAt(exchange, rule, rule.upstream.targets[index]);
  for (const index of fallback) requireOneModelAt(exchange, rule, rule.upstream.targets[index]);
}

function requireOneModelAt(exchange: Exchange, rule: CompiledRule, target: CompiledTarget | undefined): void {
  if (target === undefined || mayNameOnlyOne(exchange, rule, target)) return;
  const named = new Set(modelsNamedIn(exchange, rule, target));
  if (named.size > 1) throw severalModels([...named]);
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

function severalModels(named: readonly unknown[]): GatehouseError {
  const shown = named.slice(0, MAX_SHOWN).map((name) => JSON.stringify(name).slice(0, MAX_SHOWN_LENGTH));
  return new GatehouseError(
    "bad_request",
    `The request names several models (${shown.join(", ")}), so that its budgets cannot be applied. Name the same model in the path, the query and the body, and send no models or fallbacks.`,
  );
}
