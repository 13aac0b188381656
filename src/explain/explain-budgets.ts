// Explains which budgets a request has to fit into, and whether it does, without reserving anything.
import { dollarsOf } from "../base/decimal.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { ExplainedBudget } from "../model/explanation.ts";
import { policyOf } from "../proxy/budgets/budget-enforcement.ts";
import type { BudgetPlan } from "../proxy/budgets/plan-budgets.ts";
import type { Exchange } from "../proxy/exchange.ts";

export async function explainBudgets(
  { gateway }: Exchange,
  { claims }: BudgetPlan,
  ledger: Ledger,
): Promise<ExplainedBudget[]> {
  if (claims.length === 0) return [];
  const { states } = await ledger.peek(gateway?.id ?? "", claims, policyOf(claims));
  return claims.map(({ budget, subject, amount, endsAt, enforced }, index) => {
    const { id, name, unit } = budget.record;
    const { remaining = 0, waitMs = 0 } = states[index] ?? {};
    const shown = (value: number) => (unit === "usd" ? dollarsOf(value) : String(value));
    return {
      id,
      name,
      subject: subject === "" ? null : subject,
      unit,
      requested: shown(amount),
      remaining: shown(remaining),
      resets_at: endsAt === null ? null : new Date(endsAt).toISOString(),
      fits: waitMs === 0 || !enforced,
    };
  });
}
