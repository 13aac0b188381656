// The durable copy of what budgets have spent: of a ledger in memory, and of one in Redis, which may lose its data. The store
// implements it.
import type { BudgetTarget } from "./ledger.ts";

/** What changed in one period of a budget since the last write of this process. */
export interface JournalChange {
  readonly budget: BudgetTarget;
  /** The amount to add to what was spent; may be negative. */
  readonly spentChange: number;
  /** The sum of the reservations that are open in this process now. Replaces the last one that this process wrote. */
  readonly reserved: number;
  /**
   * What this process wrote last as `reserved`. If others have taken the process for dead and charged it, that is undone, so that no
   * reservation is charged twice.
   */
  readonly reservedBefore: number;
  /** Whether an operator has reset the amount since the last write: then charges are not undone that were a part of it. */
  readonly isReset?: boolean;
  /**
   * All that this process has spent of the budget since its start, for ledgers in Redis. The journal then adds what this exceeds the
   * sum that it knows, instead of `spentChange`: an operator's change may have included amounts that were not written yet.
   */
  readonly sum?: number;
}

/** A batch is written completely or not at all, and only once, however often it is retried. */
export interface JournalBatch {
  /** Identifies the process. */
  readonly writer: string;
  /** Increases with every batch. The next batch is started only after this one is known to be written. */
  readonly number: number;
  /** Unix milliseconds, to detect processes that have ended. The database replaces them by its own clock, if it has one. */
  readonly writtenAt: number;
  /** False if the clock was corrected since the process was started. Then old rows are not removed: it may be wrong now. */
  readonly isClockSteady?: boolean;
  readonly changes: readonly JournalChange[];
}

/** The amounts of one period of a budget over all processes that write to the journal. */
export interface JournalTotal {
  readonly budget: BudgetTarget;
  readonly spent: number;
  /** The sum of open reservations of other processes that have written within LEASE_MS. Older ones are part of `spent`. */
  readonly reservedElsewhere: number;
  /** How often operators have changed the amount. */
  readonly version: number;
}

/**
 * In place of a process: what was charged because processes seemed to have ended, which is undone if they have not. Redis and the database
 * do this independently of each other, so that they must know how much of an amount it is.
 */
export const PRESUMED = "~";

/** One period of a budget, with what each process had spent when it last wrote: the sums are part of `spent`. */
export interface JournalAccount {
  readonly budget: BudgetTarget;
  readonly spent: number;
  readonly version: number;
  readonly sums: ReadonlyMap<string, number>;
}

/** A change by an operator. */
export type AccountChange = { readonly kind: "clear" } | { readonly kind: "add"; readonly amount: number };

/** What ledgers in Redis need in addition, because Redis may lose its data. */
export interface AccountJournal extends SpentJournal {
  /** Resolves to what identifies the database: a Redis belongs to one. */
  installationId(): Promise<string>;
  /**
   * Resolves to the accounts of these budgets, in the same order; of each as it was at one moment, with the reservations of processes that
   * have ended. `writer` is alive.
   */
  readAccounts(
    writer: string,
    budgets: readonly BudgetTarget[],
    unixMs: number,
  ): Promise<readonly JournalAccount[]>;
  /**
   * Changes what is spent, in one transaction, after the sums that processes have reached in Redis were included: what was spent before
   * the change and is written later counts as changed. Resolves to the account afterwards.
   */
  changeAccount(
    budget: BudgetTarget,
    sums: ReadonlyMap<string, number>,
    change: AccountChange,
    unixMs: number,
  ): Promise<JournalAccount>;
}

export interface SpentJournal {
  /** By how much the clock of this process was ahead of the one of the database, when this was last measured. */
  readonly clockAheadMs?: number;
  /** Resolves to all periods that are kept, with what earlier processes have spent. */
  loadSpending(writer: string, unixMs: number): Promise<readonly JournalTotal[]>;
  /** Resolves to the totals of these budgets, in the same order. */
  readSpending(
    writer: string,
    budgets: readonly BudgetTarget[],
    unixMs: number,
  ): Promise<readonly JournalTotal[]>;
  /** Writes a batch in one transaction, and resolves to the totals of the same budgets. */
  writeSpending(batch: JournalBatch): Promise<readonly JournalTotal[]>;
  /**
   * Writes what a process that has ended did not write. `batchAfter` gets the number of its last batch that was written, 0 if there is
   * none, and returns the final one, or null if that was written before.
   */
  finishSpending(
    writer: string,
    batchAfter: (written: number) => JournalBatch | null,
    unixMs: number,
  ): Promise<void>;
}
