// Decides which budgets a request has to fit into, and estimates how much of each it will use.
import { GatehouseError } from "../../base/errors.ts";
import { isPromise, type ValueOrPromise } from "../../base/value-or-promise.ts";
import type { Operation } from "../../formats/operations.ts";
import type { OffLoopPart } from "../../off-loop/off-loop.ts";
import { tokensToReserve } from "../../sdk/index.ts";
import type { BudgetAccounts } from "../../runtime/budget-book.ts";
import { boundedSubject, SHARED_SUBJECT } from "../../runtime/budget-subjects.ts";
import type { CompiledBudget } from "../../snapshot/compiled-budget.ts";
import type { CompiledRule } from "../../snapshot/compiled-rule.ts";
import type { Exchange } from "../exchange.ts";
import { METHODS_WITHOUT_MODEL } from "../named-models.ts";
import { priceFor } from "../price-for.ts";
import { userIdOf, userKeyOf } from "../user-of.ts";
import { countsModel, type PlannedClaim } from "./reserved-claims.ts";
import { KnownPlans, type ApplyingBudget, type BudgetPlan } from "./known-plans.ts";
import { isPathSent, namedEndpoint } from "./named-operation.ts";
import { eligibleModels, estimatesOf, sizeOf } from "./request-estimate.ts";
import { dependsOnModel, requireOneModel } from "./require-one-model.ts";
import { UNKNOWN_SIZE, type ModelEstimate, type RequestSize } from "./request-size.ts";

const OPERATIONS_WITHOUT_COST: ReadonlySet<Operation> = new Set(["count_tokens", "files"]);
/** Operations whose endpoints below the first one cancel or read what was created there. */
const CREATING_OPERATIONS: ReadonlySet<Operation> = new Set(["responses", "batches", "fine_tuning"]);
/** Some of their requests cost nothing. */
const OPERATIONS_TO_CHECK: ReadonlySet<Operation> = OPERATIONS_WITHOUT_COST.union(CREATING_OPERATIONS);

const NO_CLAIMS: readonly PlannedClaim[] = [];

export interface PlanParts extends OffLoopPart {
  readonly budgetAccounts: BudgetAccounts;
}

/** Whether the request runs a model. A path of the client says nothing if the target has its own. */
export function mayCost(exchange: Exchange, rule: CompiledRule): boolean {
  // Tools have no price.
  if (rule.mcp !== null) return false;
  if (exchange.handshake !== null) return true;
  if (METHODS_WITHOUT_MODEL.has(exchange.method)) return false;
  if (!isPathSent(rule.upstream)) return true;
  const endpoint = namedEndpoint(exchange, rule, OPERATIONS_TO_CHECK);
  if (endpoint === null) return true;
  return CREATING_OPERATIONS.has(endpoint.operation) && !endpoint.tail.endsWith("/cancel");
}

/** Throws if a budget rejects models without a price. */
export function planBudgets(
  exchange: Exchange,
  rule: CompiledRule,
  budgets: readonly CompiledBudget[],
  parts: PlanParts,
): ValueOrPromise<readonly PlannedClaim[]> {
  if (budgets.some(dependsOnModel)) requireOneModel(exchange, rule);
  const models = eligibleModels(exchange, rule);
  const { applying, needsSize } = knownPlans.planFor(exchange, budgets, models, findApplying);
  if (applying.length === 0) return NO_CLAIMS;
  const size = needsSize ? sizeOf(exchange, parts) : UNKNOWN_SIZE;
  return isPromise(size)
    ? size.then((known) => completeClaims(applying, exchange, models, known, parts.budgetAccounts))
    : completeClaims(applying, exchange, models, size, parts.budgetAccounts);
}

const knownPlans = new KnownPlans();

function findApplying(
  exchange: Exchange,
  budgets: readonly CompiledBudget[],
  models: readonly (string | null)[],
): BudgetPlan {
  const applying: ApplyingBudget[] = [];
  for (const budget of budgets) addClaimsOn(applying, budget, exchange, models);
  const needsSize =
    applying.some(({ budget }) => budget.record.unit === "tokens") ||
    models.some((model) => priceFor(exchange, model)?.dependsOnTokens === true);
  return { applying, needsSize };
}

/** Adds nothing if the budget does not concern the request. Every model has its own claim if the budget is for each model. */
function addClaimsOn(
  claims: ApplyingBudget[],
  budget: CompiledBudget,
  exchange: Exchange,
  models: readonly (string | null)[],
): void {
  const counted =
    budget.models === null ? models : models.filter((name) => countsModel({ budget, model: null }, name));
  if (counted.length === 0) return;
  const { scope, each, unit, on_unknown_price } = budget.record;
  if (scope === "model" && each)
    for (const name of counted)
      claims.push({ budget, subject: boundedSubject(name ?? ""), model: name ?? "" });
  else {
    const subject = subjectOf(budget, exchange);
    if (subject === null) return;
    claims.push({ budget, subject: boundedSubject(subject), model: null });
  }
  if (unit !== "usd" || !budget.isEnforced || on_unknown_price !== "refuse") return;
  for (const name of counted) if (priceFor(exchange, name) === null) throw priceUnknown(budget, name);
}

/** Returns null if the request is not one of the budget's. */
function subjectOf({ record }: CompiledBudget, exchange: Exchange): string | null {
  const { scope, value, each, label } = record;
  const { apiKey } = exchange;
  switch (scope) {
    case "gateway":
    case "model":
      return "";
    case "api_key":
      if (each) return apiKey?.id ?? "";
      return apiKey !== null && (apiKey.id === value || apiKey.name === value) ? "" : null;
    case "label": {
      const labels = apiKey?.labelValues ?? {};
      const found = label !== null && Object.hasOwn(labels, label) ? (labels[label] ?? null) : null;
      if (found === null) return null;
      return each ? found : found === value ? "" : null;
    }
    case "user":
      return each || value === userIdOf(exchange) ? userKeyOf(exchange) : null;
  }
}

function completeClaims(
  applying: readonly ApplyingBudget[],
  exchange: Exchange,
  models: readonly (string | null)[],
  size: RequestSize,
  accounts: BudgetAccounts,
): readonly PlannedClaim[] {
  const estimates = estimatesOf(exchange, models, size, accounts);
  const unixMs = exchange.clock.unixNow();
  const claims: PlannedClaim[] = [];
  for (const each of applying) {
    let amount = 0;
    for (const estimate of estimates)
      if (countsModel(each, estimate.model))
        amount = Math.max(amount, amountFor(each.budget, estimate, size));
    claims.push(claimOf(each, unixMs, amount, accounts));
  }
  return withoutEqualKeys(claims);
}

/** Returns a claim on a budget that counts all models; null if the request is not one of the budget's. */
export function claimOfSubject(
  budget: CompiledBudget,
  exchange: Exchange,
  amount: number,
  accounts: BudgetAccounts,
): PlannedClaim | null {
  const subject = subjectOf(budget, exchange);
  if (subject === null) return null;
  return claimOf(
    { budget, subject: boundedSubject(subject), model: null },
    exchange.clock.unixNow(),
    amount,
    accounts,
  );
}

function claimOf(
  { budget, subject: wantedSubject, model }: ApplyingBudget,
  unixMs: number,
  amount: number,
  accounts: BudgetAccounts,
): PlannedClaim {
  const { subject, target } = accounts.accountOf(budget, wantedSubject, budget.periods.at(unixMs));
  return {
    kind: "budget",
    key: target.key,
    period: target.period,
    endsAt: target.endsAt,
    type: budget.record.name,
    limit: budget.limit,
    amount,
    enforced: budget.isEnforced,
    onUnavailable: budget.policy,
    budget,
    subject,
    // Models beyond the bound share one account, which counts all of them.
    model: subject === SHARED_SUBJECT ? null : model,
  };
}

/** The ledger accepts a key once per call. Of claims on the same account, the largest is reserved. */
function withoutEqualKeys(claims: readonly PlannedClaim[]): readonly PlannedClaim[] {
  if (!hasEqualKeys(claims)) return claims;
  const byKey = new Map<string, PlannedClaim>();
  for (const claim of claims) {
    const other = byKey.get(claim.key);
    if (other === undefined || other.amount < claim.amount) byKey.set(claim.key, claim);
  }
  return [...byKey.values()];
}

function hasEqualKeys(claims: readonly PlannedClaim[]): boolean {
  for (let at = 1; at < claims.length; at++)
    for (let other = 0; other < at; other++) if (claims[other]?.key === claims[at]?.key) return true;
  return false;
}

/**
 * Returns what the request will use at most or, if it does not limit its output, probably. Amounts that are
 * probable, as those of files are, count as at most a quarter of the budget. Files alone never make a request
 * too large for the budget. A request that may use something has an amount, although its size may be unknown: a
 * claim on nothing fits into a budget that is exhausted.
 */
export function amountFor(
  { record, limit }: CompiledBudget,
  { price, inputTokens, audioTokens, fileTokens, writesCache, outputTokens }: ModelEstimate,
  { maxOutputTokens }: RequestSize,
): number {
  const isLimited = maxOutputTokens !== null;
  const quarter = Math.floor(limit / 4);
  if (record.unit === "tokens")
    return tokensToReserve(limit, "total", inputTokens, outputTokens, isLimited, fileTokens);
  if (price === null) return 0;
  const textTokens = inputTokens - audioTokens;
  const ofText = price.costToReserve(textTokens, audioTokens, 0, writesCache);
  const specialTokens = audioTokens + fileTokens;
  const ofInput = fileTokens === 0 ? ofText : price.costToReserve(textTokens, specialTokens, 0, writesCache);
  const ofOutput = price.costToReserve(textTokens, specialTokens, outputTokens, writesCache) - ofInput;
  const known = ofText + (isLimited ? ofOutput : Math.min(ofOutput, quarter));
  const amount = known + Math.min(ofInput - ofText, quarter, Math.max(0, limit - known));
  return amount === 0 && price.dependsOnTokens ? 1 : amount;
}

function priceUnknown({ record }: CompiledBudget, model: string | null): GatehouseError {
  const what =
    model === null
      ? "The request names no model that the gateway knows"
      : `The model "${model.slice(0, 255)}" has no price`;
  return new GatehouseError(
    "price_unknown",
    `${what}, and the budget "${record.name}" rejects such requests.`,
    {
      headers: { "x-should-retry": "false" },
      fields: { budget: record.name },
    },
  );
}
