// What is left of the budgets of a request, as the client sees it: `team=12.34, daily tokens=1000`.
import { dollarsOf } from "../base/decimal.ts";
import { fieldNameOf } from "../http/header-fields.ts";
import type { LineWriter } from "../http/line-writer.ts";
import type { CompiledBudget } from "../snapshot/compiled-budget.ts";

const COMMA = 0x2c;
const SPACE = 0x20;

/** Claims on budgets, and the states of all claims of the request. */
export interface RemainingBudgets {
  readonly claims: readonly { readonly budget: CompiledBudget }[];
  /** `remaining` is in nano-dollars or tokens: an integer, at least 0. */
  readonly states: readonly { readonly remaining: number }[];
  /** The index of the first state of a budget. */
  readonly first: number;
}

export const REMAINING_BUDGETS = fieldNameOf("X-GW-Budget-Remaining");
const REMAINING_START = Buffer.from(REMAINING_BUDGETS.start);

/** Starts the line, which `writeBudget` continues. */
export function startBudgets(writer: LineWriter): void {
  writer.constant(REMAINING_START);
}

/** Writes the line of the budgets. */
export function writeRemaining(writer: LineWriter, { claims, states, first }: RemainingBudgets): void {
  startBudgets(writer);
  let at = 0;
  for (const { budget } of claims) {
    writeBudget(writer, budget, states[first + at]?.remaining ?? 0, at === 0);
    at++;
  }
  writer.lineEnd();
}

export function writeBudget(
  writer: LineWriter,
  budget: CompiledBudget,
  remaining: number,
  isFirst: boolean,
): void {
  if (!isFirst) {
    writer.character(COMMA);
    writer.character(SPACE);
  }
  writer.constant(budget.nameBytes);
  if (budget.record.unit === "usd") writer.dollars(remaining);
  else writer.number(remaining);
}

export function remainingText({ claims, states, first }: RemainingBudgets): string {
  return claims
    .map(({ budget: { record } }, at) => {
      const remaining = states[first + at]?.remaining ?? 0;
      return `${record.name}=${record.unit === "usd" ? dollarsOf(remaining) : String(remaining)}`;
    })
    .join(", ");
}
