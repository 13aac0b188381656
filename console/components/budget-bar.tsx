// Bar of a budget: what is spent and what requests in progress have reserved of its amount.
import type { JSX } from "preact";
import type { Budget } from "../api/types.ts";
import { formatAmount, percentOf } from "../state/amounts.ts";

interface BudgetBarProps {
  readonly unit: Budget["unit"];
  readonly amount: string | number;
  readonly spent: string | number;
  readonly reserved: string | number;
}

/** A share from which the bar has the color of a warning. */
const HIGH_PERCENT = 80;

export function BudgetBar({ unit, amount, spent, reserved }: BudgetBarProps): JSX.Element {
  const spentPercent = percentOf(unit, spent, amount);
  const reservedPercent = Math.min(percentOf(unit, reserved, amount), 100 - spentPercent);
  const tone = spentPercent >= 100 ? "bad" : spentPercent >= HIGH_PERCENT ? "warning" : "good";
  const label = `${formatAmount(unit, spent)} of ${formatAmount(unit, amount)} spent, ${formatAmount(unit, reserved)} reserved`;
  return (
    <div class={`budget-bar ${tone}`} role="img" aria-label={label} title={label}>
      <span class="spent" style={{ width: `${spentPercent}%` }} />
      <span class="reserved" style={{ width: `${reservedPercent}%` }} />
    </div>
  );
}
