// What is left of the budgets of a request, as the client sees it: `team=12.34, daily tokens=1000`.
import { dollarsOf } from "../base/decimal.ts";
import type { LineWriter } from "../http/line-writer.ts";
import type { CompiledBudget } from "../snapshot/compiled-budget.ts";

const COMMA = 0x2c;
const SPACE = 0x20;

export interface RemainingBudget {
  readonly budget: CompiledBudget;
  /** Nano-dollars or tokens: an integer, at least 0. */
  readonly remaining: number;
}

export function writeRemaining(writer: LineWriter, budgets: readonly RemainingBudget[]): void {
  for (let at = 0; at < budgets.length; at++) {
    const each = budgets[at];
    if (each === undefined) continue;
    if (at > 0) {
      writer.character(COMMA);
      writer.character(SPACE);
    }
    writer.constant(each.budget.nameBytes);
    if (each.budget.record.unit === "usd") writer.dollars(each.remaining);
    else writer.number(each.remaining);
  }
}

export function remainingText(budgets: readonly RemainingBudget[]): string {
  return budgets
    .map(({ budget: { record }, remaining }) => {
      const amount = record.unit === "usd" ? dollarsOf(remaining) : String(remaining);
      return `${record.name}=${amount}`;
    })
    .join(", ");
}
