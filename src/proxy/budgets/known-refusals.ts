// Rejects requests whose body is still arriving if this process knows that a budget has nothing left for them. Reserves nothing.
import type { CompiledBudget } from "../../snapshot/compiled-budget.ts";
import type { Exchange } from "../exchange.ts";
import { claimOfSubject, mayCost, type PlanParts } from "./plan-budgets.ts";
import { budgetRefusal, setRemainingHeader, type Reservations } from "./reservations.ts";

/** The amount of the request is not known. One that costs nothing is admitted when its body has arrived. */
const LEAST_AMOUNT = 1;

interface KnownRefusalParts extends Pick<PlanParts, "budgetAccounts"> {
  readonly reservations: Reservations;
}

/**
 * Throws the error that the request gets otherwise when its body has arrived. A plugin that is called with the final request may have kept a
 * response, which costs nothing.
 */
export function rejectByKnownBudgets(exchange: Exchange, parts: KnownRefusalParts): void {
  const { gateway, rule } = exchange;
  const budgets = gateway?.budgets ?? null;
  if (budgets === null || rule === null || (gateway?.chain?.finalRequest ?? null) !== null) return;
  if (!mayCost(exchange, rule)) return;
  const claims = budgets
    .filter((budget) => isKnownWithoutBody(budget, exchange))
    .flatMap((budget) => claimOfSubject(budget, exchange, LEAST_AMOUNT, parts.budgetAccounts) ?? []);
  const refusal = claims.length === 0 ? null : parts.reservations.knownRefusal(claims);
  const claim = refusal === null ? undefined : claims[refusal.refusedBy];
  if (refusal === null || claim === undefined) return;
  parts.reservations.countRefusal(exchange, claim.budget);
  setRemainingHeader(exchange, claims, refusal.states, 0);
  throw budgetRefusal(claims, refusal, 0);
}

/** Whether every request of this subject takes something of the budget, whatever its model and its body are. */
function isKnownWithoutBody({ record, isEnforced, models }: CompiledBudget, exchange: Exchange): boolean {
  const { scope, unit, on_unknown_price } = record;
  if (!isEnforced || models !== null || scope === "model") return false;
  const { request, gateway, snapshot } = exchange;
  if (scope === "user" && (request.headers.get("x-user-id") ?? "") === "") return false;
  if (unit === "tokens") return true;
  const hasFreeModels = gateway?.prices?.hasFreeModels === true || snapshot.prices.hasFreeModels;
  return on_unknown_price === "refuse" && !hasFreeModels;
}
