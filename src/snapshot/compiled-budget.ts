// A budget in the form that requests use: its amount as an integer, its calendar, and the requests that it counts.
import { CalendarPeriods } from "../base/calendar-period.ts";
import { nanosOf } from "../base/decimal.ts";
import type { UnavailablePolicy } from "../ledger/ledger.ts";
import type { Budget } from "../model/budget.ts";
import { ModelAllowList } from "./model-allow-list.ts";

/** A share of the amount that is reported when it is reached. */
export interface Threshold {
  readonly share: number;
  /** Nano-dollars or tokens. */
  readonly amount: number;
}

export interface CompiledBudget {
  readonly id: string;
  readonly record: Budget;
  /** The name and an equals sign, as in the header field that says what is left. */
  readonly nameBytes: Uint8Array;
  /** Nano-dollars or tokens. */
  readonly limit: number;
  /**
   * Whether every subject has an amount of its own: with `each`, and for a user id, because any client can send any id (0095).
   */
  readonly hasSubjects: boolean;
  readonly periods: CalendarPeriods;
  /** Null: all models. */
  readonly models: ModelAllowList | null;
  readonly isEnforced: boolean;
  readonly policy: UnavailablePolicy;
  readonly thresholds: readonly Threshold[];
}

/** Returns null without budgets, so that requests of the gateway skip them. */
export function compileBudgets(budgets: readonly Budget[]): CompiledBudget[] | null {
  return budgets.length === 0 ? null : budgets.map(compileBudget);
}

function compileBudget(record: Budget): CompiledBudget {
  const { id, unit, amount, period, timezone, scope, value, models, mode } = record;
  const limit = unit === "usd" ? nanosOf(String(amount)) : Number(amount);
  const isEnforced = mode === "enforce";
  const patterns = scope === "model" && value !== null ? [value] : models;
  return {
    id,
    record,
    nameBytes: Buffer.from(`${record.name}=`),
    limit,
    hasSubjects: record.each || scope === "user",
    periods: new CalendarPeriods(period, timezone),
    models: patterns === null ? null : new ModelAllowList(patterns),
    isEnforced,
    policy: record.on_store_failure ?? (isEnforced ? "closed" : "open"),
    thresholds: record.warn_at.map((share) => ({ share, amount: shareOf(limit, share) })),
  };
}

/** Shares have at most three decimal places. The product may be above the integers that a number represents exactly. */
function shareOf(limit: number, share: number): number {
  return Number((BigInt(limit) * BigInt(Math.round(share * 1000)) + 999n) / 1000n);
}
