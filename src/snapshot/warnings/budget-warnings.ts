// Warnings about budgets that reject every request, or whose webhook is never called.
import type { Budget } from "../../model/budget.ts";
import type { ConfigurationWarning } from "./warning.ts";

export function budgetWarnings({
  id: recordId,
  amount,
  mode,
  warn_at,
  webhook,
}: Budget): ConfigurationWarning[] {
  const warnings: ConfigurationWarning[] = [];
  if (Number(amount) === 0 && mode === "enforce") {
    const message = "the amount is 0, so that all requests that cost something are rejected";
    warnings.push({ places: [{ recordId, path: "amount" }], message });
  }
  if (webhook !== null && warn_at.length === 0) {
    const message = "the webhook is never called, because warn_at is empty";
    warnings.push({ places: [{ recordId, path: "webhook" }], message });
  }
  return warnings;
}
