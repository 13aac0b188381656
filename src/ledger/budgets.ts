// The budgets of a ledger in memory, by key and period.
import type { BudgetAmounts, BudgetClaim, BudgetTarget } from "./ledger.ts";
import type { JournalChange, JournalTotal } from "./spent-journal.ts";
import { add } from "./window.ts";

/** How long a period is kept after its end, for requests that were reserved before it. */
const KEPT_AFTER_END_MS = 86_400_000;

/** One period of a budget. */
export class Budget implements BudgetAmounts {
  #target: BudgetTarget;
  spent = 0;
  /** The sum of reservations that are open in this process. */
  reservedHere = 0;
  /** The sum of reservations that are open in other processes. */
  reservedElsewhere = 0;
  /** The unwritten amounts of processes that may have ended: they count as reserved until that is known. */
  reservedByUncertain = 0;
  /** The part of `spent` that has not been written to the journal. */
  unwritten = 0;
  /** What all processes had spent when the journal was last read. */
  written = 0;
  /** How often operators had changed the amount by then. */
  version = 0;
  /** The running sum of what was spent here; includes `unwritten`. */
  spentHere = 0;
  /** The part of `reservedHere` that the journal has. */
  reservedWritten = 0;
  /** Whether it was reset since then. */
  isReset = false;
  /** Whether the journal writer has to write it. */
  isChanged = false;
  /** The slot in the file for the case that this process is killed; -1 if there is none. */
  slot = -1;
  /** It was dropped after its period: the next amount of its key is that of another budget. */
  isDropped = false;
  /** When the journal may be read again because of a rejected request; a time of the clock. */
  recheckAt = -Infinity;

  constructor({ key, period, endsAt }: BudgetTarget) {
    this.#target = { kind: "budget", key, period, endsAt };
  }

  get target(): BudgetTarget {
    return this.#target;
  }

  /** Call with every target of a request: a budget that is changed from days to months on the first day of one keeps its account. */
  extend({ endsAt }: BudgetTarget): void {
    const known = this.#target.endsAt;
    if (known !== null && endsAt !== null && endsAt > known) this.#target = { ...this.#target, endsAt };
  }

  reserve(claim: BudgetClaim): void {
    this.extend(claim);
    this.reservedHere = add(this.reservedHere, claim.amount);
  }

  get reserved(): number {
    return add(add(this.reservedHere, this.reservedElsewhere), this.reservedByUncertain);
  }

  get used(): number {
    return add(this.spent, this.reserved);
  }

  /** Takes over what all processes have written, unless something newer is known. */
  learn({ spent, version }: { readonly spent: number; readonly version: number }): void {
    if (version < this.version || (version === this.version && spent < this.written)) return;
    this.written = spent;
    this.version = version;
    this.spent = Math.max(0, add(spent, this.unwritten));
  }

  /** Adds to what was spent, which stays from 0 to MAX_AMOUNT. */
  spend(amount: number): void {
    const spent = Math.max(0, add(this.spent, amount));
    this.unwritten += spent - this.spent;
    this.spentHere += spent - this.spent;
    this.spent = spent;
  }

  /** Returns what to add to what was spent. */
  reset(): number {
    this.isReset = true;
    return -this.spent;
  }

  /** Returns what the journal does not have yet, for the next batch. `isShared`: with the sum. */
  nextChange(isShared: boolean): JournalChange {
    const { target: budget, isReset, unwritten: spentChange, spentHere: sum, reservedHere: reserved } = this;
    this.isChanged = false;
    this.isReset = false;
    const change = { budget, isReset, spentChange, reserved, reservedBefore: this.reservedWritten };
    return isShared ? { ...change, sum } : change;
  }

  /** Takes over the amounts of the journal. */
  apply({ spent, reservedElsewhere, version }: JournalTotal): void {
    this.written = spent;
    this.version = version;
    this.spent = Math.max(0, add(spent, this.unwritten));
    this.reservedElsewhere = reservedElsewhere;
  }
}

/** Returns the amounts of a budget; undefined is one of which nothing was ever spent or reserved. */
export function amountsOf(budget: Budget | undefined): BudgetAmounts {
  return { spent: budget?.spent ?? 0, reserved: budget?.reserved ?? 0 };
}

/** Periods are dropped a day after their end. Until then they are never evicted: their number is bounded by the caller. */
export class Budgets {
  /** By period, then by key: a joined name would have to be created and hashed for every claim. */
  readonly #periods = new Map<string, Map<string, Budget>>();

  get size(): number {
    let size = 0;
    for (const budgets of this.#periods.values()) size += budgets.size;
    return size;
  }

  find({ key, period }: BudgetTarget): Budget | undefined {
    return this.#periods.get(period)?.get(key);
  }

  findOrCreate(target: BudgetTarget): Budget {
    let budgets = this.#periods.get(target.period);
    if (budgets === undefined) this.#periods.set(target.period, (budgets = new Map<string, Budget>()));
    let budget = budgets.get(target.key);
    if (budget === undefined) budgets.set(target.key, (budget = new Budget(target)));
    else budget.extend(target);
    return budget;
  }

  /** Takes over the amounts of the journal. */
  apply(totals: readonly JournalTotal[]): void {
    for (const total of totals) {
      const isUsed = total.spent + total.reservedElsewhere > 0;
      (isUsed ? this.findOrCreate(total.budget) : this.find(total.budget))?.apply(total);
    }
  }

  /** Drops the periods that ended long ago. */
  sweep(unixMs: number): void {
    for (const [period, budgets] of this.#periods) {
      for (const [key, budget] of budgets) {
        const { target, reservedHere, unwritten } = budget;
        const isOver = target.endsAt !== null && target.endsAt + KEPT_AFTER_END_MS < unixMs;
        if (!isOver || reservedHere !== 0 || unwritten !== 0) continue;
        budget.isDropped = true;
        budgets.delete(key);
      }
      if (budgets.size === 0) this.#periods.delete(period);
    }
  }
}
