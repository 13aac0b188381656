// The unit of a budget does not change: what is spent is a number of nano-dollars or of tokens, and would become another amount.
import { validationError } from "../base/errors.ts";
import type { BudgetFields } from "../model/budget.ts";

type WithUnit = Pick<BudgetFields, "unit">;

/** Throws if a change of a budget has another unit. `path` is that of the field. */
export function requireSameUnit(before: WithUnit, after: WithUnit, path: string): void {
  if (after.unit === before.unit) return;
  const message = `cannot be changed, because what is spent is counted in ${before.unit}; create a budget with another name`;
  throw validationError([{ path, message }]);
}
