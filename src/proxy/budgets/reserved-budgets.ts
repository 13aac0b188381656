// What a request has reserved of the budgets of its gateway.
import type { BudgetClaim, Reservation } from "../../ledger/ledger.ts";
import type { CompiledBudget } from "../../snapshot/compiled-budget.ts";

/** The claim of a request on one budget, or on that of one subject if every subject has its own. */
export interface PlannedClaim extends BudgetClaim {
  readonly budget: CompiledBudget;
  readonly subject: string;
  /** The only model that it counts, if every model has its own budget; null for all models of the budget. */
  readonly model: string | null;
}

export interface ReservedBudgets {
  readonly reservation: Reservation;
  readonly claims: readonly PlannedClaim[];
  /** The estimated input, for attempts whose response did not arrive. */
  readonly inputTokens: number;
  readonly limitsOutput: boolean;
}

/** Whether the claim counts a response of this model. */
export function countsModel(
  { budget, model }: Pick<PlannedClaim, "budget" | "model">,
  sent: string | null,
): boolean {
  if (model !== null) return model === (sent ?? "");
  return budget.models === null || (sent !== null && budget.models.allows(sent));
}
