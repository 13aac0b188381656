// Writes what budgets spend to the journal within a second, and reads it at the start.
import type { Clock, ClockTimer } from "../base/clock.ts";
import type { Budget, Budgets } from "./budgets.ts";
import { LEASE_MS, type BudgetTarget } from "./ledger.ts";
import type { JournalBatch, JournalTotal, SpentJournal } from "./spent-journal.ts";
import { add } from "./window.ts";

/** Half a second, so that a write has as long again until a second has passed. */
const WRITE_DELAY_MS = 500;
const RETRY_MS = 1000;
/** Limits the duration of a transaction, because it blocks other writes. The rest follows in further batches. */
const MAX_BATCH_CHANGES = 1000;
/** How often a budget that rejects requests is read again: another process may have reset it. */
const RECHECK_MS = 1000;
/** How often open reservations are written again, so that others know that this process is alive. */
const RENEWAL_MS = LEASE_MS / 3;

interface PendingBatch extends JournalBatch {
  readonly budgets: readonly Budget[];
}

export class JournalWriter {
  /** Resolves after the first attempt to load. */
  readonly settled: Promise<void>;
  readonly #writer = crypto.randomUUID();
  readonly #journal: SpentJournal;
  readonly #budgets: Budgets;
  readonly #clock: Clock;
  readonly #onError: (error: unknown) => void;
  readonly #changed = new Set<Budget>();
  readonly #open = new Set<Budget>();
  /** Budgets to read again. */
  readonly #unsure = new Set<Budget>();
  /** A batch that may or may not have been written: it is repeated before there is another one. */
  #pending: PendingBatch | null = null;
  #batches = 0;
  #isLoaded = false;
  #writing: Promise<void> | null = null;
  #timer: ClockTimer | null = null;
  readonly #renewal: ClockTimer;

  constructor(journal: SpentJournal, budgets: Budgets, clock: Clock, onError: (error: unknown) => void) {
    this.#journal = journal;
    this.#budgets = budgets;
    this.#clock = clock;
    this.#onError = onError;
    this.#renewal = clock.setInterval(() => this.#renew(), RENEWAL_MS);
    this.#renewal.unref();
    this.settled = this.#load();
  }

  /** Whether the amounts of earlier processes are known. */
  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  /** Notes that a budget has changed. */
  mark(budget: Budget): void {
    this.#changed.add(budget);
    if (this.#timer === null) this.#schedule(WRITE_DELAY_MS);
  }

  /** Call if a budget rejects a request. What other processes have changed is read soon. */
  recheck(budget: Budget): void {
    const now = this.#clock.now();
    if (now < budget.recheckAt || this.#unsure.size >= MAX_BATCH_CHANGES) return;
    budget.recheckAt = now + RECHECK_MS;
    if (this.#unsure.size === 0)
      this.#clock.setTimeout(() => void this.#readUnsure(), WRITE_DELAY_MS).unref();
    this.#unsure.add(budget);
  }

  /** Reads what other processes have spent and reserved. Never rejects. */
  async refresh(targets: readonly BudgetTarget[]): Promise<void> {
    for (let at = 0; at < targets.length; at += MAX_BATCH_CHANGES)
      await this.#refreshPart(targets.slice(at, at + MAX_BATCH_CHANGES));
  }

  /** Writes what has changed. */
  async close(): Promise<void> {
    this.#renewal.close();
    this.#timer?.close();
    await this.#writing;
    // Every call writes one batch; the first one may repeat an earlier one. It fails if it leaves a batch.
    do await this.#write();
    while (this.#changed.size > 0 && this.#pending === null);
    this.#timer?.close();
  }

  #readUnsure(): Promise<void> {
    const targets = [...this.#unsure].map(({ target }) => target);
    this.#unsure.clear();
    return this.refresh(targets);
  }

  /** Not while a batch is being written: it would be unknown which changes the totals include. */
  async #refreshPart(targets: readonly BudgetTarget[]): Promise<void> {
    while (this.#writing !== null) await this.#writing;
    if (this.#pending !== null || !this.#isLoaded) return;
    this.#writing = this.#readTotals(targets).finally(() => {
      this.#writing = null;
    });
    await this.#writing;
  }

  async #readTotals(targets: readonly BudgetTarget[]): Promise<void> {
    try {
      for (const total of await this.#journal.readSpending(this.#writer, targets)) {
        const isNew = total.spent + total.reservedElsewhere > 0;
        const budget = isNew ? this.#budgets.findOrCreate(total.budget) : this.#budgets.find(total.budget);
        if (budget !== undefined) apply(budget, total);
      }
    } catch (error) {
      this.#onError(error);
    }
  }

  #schedule(delayMs: number): void {
    this.#timer?.close();
    this.#timer = this.#clock.setTimeout(() => {
      this.#timer = null;
      void this.#write();
    }, delayMs);
    this.#timer.unref();
  }

  #renew(): void {
    for (const budget of this.#open) this.mark(budget);
  }

  async #load(): Promise<void> {
    try {
      const totals = await this.#journal.loadSpending(this.#writer, this.#clock.unixNow());
      for (const total of totals) apply(this.#budgets.findOrCreate(total.budget), total);
      this.#isLoaded = true;
    } catch (error) {
      this.#onError(error);
      const timer = this.#clock.setTimeout(() => void this.#load(), RETRY_MS);
      timer.unref();
    }
  }

  /** Never rejects. */
  #write(): Promise<void> {
    this.#writing ??= this.#writeBatch().finally(() => {
      this.#writing = null;
    });
    return this.#writing;
  }

  async #writeBatch(): Promise<void> {
    this.#pending ??= this.#nextBatch();
    const batch = this.#pending;
    if (batch === null) return;
    try {
      const { budgets, ...written } = batch;
      const totals = await this.#journal.writeSpending(written);
      this.#pending = null;
      for (const [at, budget] of budgets.entries()) {
        budget.unwritten -= batch.changes[at]?.spentChange ?? 0;
        const total = totals[at];
        if (total !== undefined) apply(budget, total);
      }
      if (this.#changed.size > 0)
        this.#schedule(batch.changes.length < MAX_BATCH_CHANGES ? WRITE_DELAY_MS : 0);
    } catch (error) {
      this.#onError(error);
      this.#schedule(RETRY_MS);
    }
  }

  #nextBatch(): PendingBatch | null {
    if (this.#changed.size === 0) return null;
    const budgets = [...this.#changed].slice(0, MAX_BATCH_CHANGES);
    for (const budget of budgets) this.#changed.delete(budget);
    for (const budget of budgets)
      if (budget.reservedHere > 0) this.#open.add(budget);
      else this.#open.delete(budget);
    const changes = budgets.map(({ target, unwritten, reservedHere }) => ({
      budget: target,
      spentChange: unwritten,
      reserved: reservedHere,
    }));
    const writtenAt = this.#clock.unixNow();
    return { writer: this.#writer, number: ++this.#batches, writtenAt, changes, budgets };
  }
}

function apply(budget: Budget, { spent, reservedElsewhere }: JournalTotal): void {
  budget.spent = Math.max(0, add(spent, budget.unwritten));
  budget.reservedElsewhere = reservedElsewhere;
}
