// The step that reserves the budgets of a request, also those of the fallbacks of virtual models.
import { GatehouseError } from "../../base/errors.ts";
import { isPromise, type ValueOrPromise } from "../../base/value-or-promise.ts";
import type { OffLoopPart } from "../../off-loop/off-loop.ts";
import type { BudgetAccounts } from "../../runtime/budget-book.ts";
import type { CompiledBudget } from "../../snapshot/compiled-budget.ts";
import type { CompiledRule } from "../../snapshot/compiled-rule.ts";
import type { Exchange } from "../exchange.ts";
import { enterLeg } from "../virtual-models/resolve-model.ts";
import type { VirtualRoute } from "../virtual-models/virtual-route.ts";
import { mayCost, planBudgets, type BudgetPlan } from "./plan-budgets.ts";

export interface ReserveParts extends OffLoopPart {
  readonly budgetAccounts: BudgetAccounts;
  /** Reserves the budgets of a request, or throws. Explain only compares them. */
  readonly reserveBudgets: (exchange: Exchange, plan: BudgetPlan) => ValueOrPromise<null>;
}

/** Throws or rejects if a budget has not enough left. */
export function reserve(
  exchange: Exchange,
  rule: CompiledRule,
  budgets: readonly CompiledBudget[],
  parts: ReserveParts,
): ValueOrPromise<null> {
  if (!mayCost(exchange, rule)) return null;
  if (exchange.route?.mayFallBackOn("budget") === true)
    return reserveOrFallBack(exchange, exchange.route, rule, budgets, parts);
  const planned = planBudgets(exchange, rule, budgets, parts);
  return isPromise(planned)
    ? planned.then((plan) => parts.reserveBudgets(exchange, plan))
    : parts.reserveBudgets(exchange, planned);
}

/** A budget that has not enough left for a virtual model may have enough for its fallback. */
async function reserveOrFallBack(
  exchange: Exchange,
  route: VirtualRoute,
  rule: CompiledRule,
  budgets: readonly CompiledBudget[],
  parts: ReserveParts,
): Promise<null> {
  for (;;) {
    try {
      const plan = await planBudgets(exchange, exchange.rule ?? rule, budgets, parts);
      return await parts.reserveBudgets(exchange, plan);
    } catch (error) {
      const isRefusal = error instanceof GatehouseError && error.status === 402;
      if (!isRefusal || !route.fallBack("budget")) throw error;
      const [leg] = route.remaining();
      if (leg !== undefined) enterLeg(exchange, leg);
    }
  }
}
