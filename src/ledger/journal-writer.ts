// Writes what budgets spend to the journal within a second, and reads it at the start.
import type { Clock, ClockTimer } from "../base/clock.ts";
import type { Budget, Budgets } from "./budgets.ts";
import type { JournalWriterOptions } from "./journal-writer-options.ts";
import { LEASE_MS, type BudgetTarget } from "./ledger.ts";
import { SpendingRecovery } from "./recover-spending.ts";
import { SpentFile } from "./spent-file.ts";
import type { JournalBatch, JournalTotal, SpentJournal } from "./spent-journal.ts";

/** Half a second, so that a write has as long again until a second has passed. */
const WRITE_DELAY_MS = 500;
const RETRY_MS = 1000;
/** Limits the duration of a transaction, because it blocks other writes. The rest follows in further batches. */
const MAX_BATCH_CHANGES = 1000;
/** How often a budget that rejects requests is read again: another process may have reset it. */
const RECHECK_MS = 1000;
/** How often open reservations are written again, so that others know that this process is alive. */
const RENEWAL_MS = LEASE_MS / 3;
/** How often a process without requests writes, so that the journal keeps its sums. */
const IDLE_MS = 86_400_000;
/** Smaller corrections of the clock are no sign of a wrong one. */
const STEADY_MS = 3_600_000;

interface PendingBatch extends JournalBatch {
  readonly budgets: readonly Budget[];
}

export class JournalWriter {
  /** Resolves after the first attempt to load. */
  readonly settled: Promise<void>;
  readonly #writer: string;
  readonly #journal: SpentJournal;
  readonly #budgets: Budgets;
  readonly #clock: Clock;
  readonly #options: JournalWriterOptions;
  /** Unix time minus monotonic time. */
  readonly #startedOffset: number;
  readonly #changed = new Set<Budget>();
  readonly #open = new Set<Budget>();
  /** Budgets to read again. */
  readonly #unsure = new Set<Budget>();
  /** A batch that may or may not have been written: it is repeated before there is another one. */
  #pending: PendingBatch | null = null;
  #batches = 0;
  #isLoaded = false;
  #writing: Promise<void> | null = null;
  #reading: Promise<void> | null = null;
  #timer: ClockTimer | null = null;
  readonly #renewal: ClockTimer;
  /** Undefined before the first change, null if it could not be created. */
  #file: SpentFile | null | undefined;
  /** Null without a directory. */
  readonly #recovery: SpendingRecovery | null;
  #isRecovering = false;
  /** Whether a process has ended and the amounts in the journal were not read since. */
  #isReloadDue = false;
  #isFailing = false;
  /** A budget of the last batch. */
  #last: Budget | null = null;
  #lastWrittenAt = 0;

  constructor(journal: SpentJournal, budgets: Budgets, clock: Clock, options: JournalWriterOptions) {
    this.#journal = journal;
    this.#budgets = budgets;
    this.#clock = clock;
    this.#options = options;
    this.#writer = options.writer ?? crypto.randomUUID();
    this.#startedOffset = clock.unixNow() - clock.now();
    const { directory, onDamagedFile = () => undefined } = options;
    if (directory === undefined) this.#file = null;
    const parts = { journal, budgets, clock, ownWriter: this.#writer, onDamagedFile };
    this.#recovery = directory === undefined ? null : new SpendingRecovery({ ...parts, directory });
    this.#renewal = clock.setInterval(() => this.#renew(), RENEWAL_MS);
    this.#renewal.unref();
    this.settled = this.#load();
  }

  /** Whether the amounts of earlier processes are known; with a shared ledger, whether the journal has them. */
  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  /** Notes that a budget has changed. */
  mark(budget: Budget): void {
    if (!budget.isChanged) {
      budget.isChanged = true;
      this.#changed.add(budget);
    }
    const file = this.#file === undefined ? this.#openFile() : this.#file;
    if (file !== null) {
      if (budget.slot === -1) budget.slot = file.allocate(budget.target, budget.spentHere - budget.unwritten);
      if (budget.slot !== -1) file.update(budget.slot, budget.spentHere, budget.reservedHere);
    }
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
    // Otherwise the next process charges what remains.
    const isWritten = this.#pending === null && this.#changed.size === 0 && this.#open.size === 0;
    if (isWritten) this.#file?.remove();
    this.#file = null;
  }

  #openFile(): SpentFile | null {
    const { directory = "", onFileError } = this.#options;
    try {
      this.#file = new SpentFile(directory, this.#writer, this.#options.isShared === true);
      this.#file.renew(this.#clock.unixNow());
    } catch (error) {
      this.#file = null;
      onFileError?.(error);
    }
    return this.#file;
  }

  #readUnsure(): Promise<void> {
    const targets = [...this.#unsure].map(({ target }) => target);
    this.#unsure.clear();
    return this.refresh(targets);
  }

  async #refreshPart(targets: readonly BudgetTarget[]): Promise<void> {
    if (!this.#isLoaded) return;
    await this.#read(() => this.#journal.readSpending(this.#writer, targets, this.#clock.unixNow()));
  }

  /**
   * Not while a batch is being written: it would be unknown which changes the totals include. Returns whether the totals were read. Never
   * rejects.
   */
  async #read(read: () => Promise<readonly JournalTotal[]>): Promise<boolean> {
    while (this.#writing !== null || this.#reading !== null) await (this.#writing ?? this.#reading);
    if (this.#pending !== null) return false;
    const reading = read().then(
      (totals) => {
        this.#budgets.apply(totals);
        return true;
      },
      (error: unknown) => {
        this.#reportFailure(error);
        return false;
      },
    );
    this.#reading = reading.then(() => {
      this.#reading = null;
    });
    await this.#reading;
    return reading;
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
    this.#file?.renew(this.#clock.unixNow());
    if (this.#isLoaded && !this.#isRecovering)
      this.#recover().catch((error: unknown) => this.#reportFailure(error));
    for (const budget of this.#open) this.mark(budget);
    // The journal forgets the sums of a process that has not written for a month.
    if (this.#last !== null && this.#clock.now() - this.#lastWrittenAt > IDLE_MS) this.mark(this.#last);
  }

  /** Other processes may have been killed. */
  async #recover(): Promise<void> {
    if (this.#recovery === null) return;
    this.#isRecovering = true;
    try {
      if (await this.#recovery.finishEnded()) this.#isReloadDue = true;
      if (this.#isReloadDue && this.#isLoaded)
        this.#isReloadDue = !(await this.#read(() => this.#loadTotals()));
      if (!this.#isReloadDue || !this.#isLoaded) await this.#recovery.holdUncertain();
    } finally {
      this.#isRecovering = false;
    }
  }

  #loadTotals(): Promise<readonly JournalTotal[]> {
    return this.#journal.loadSpending(this.#writer, this.#clock.unixNow());
  }

  async #load(): Promise<void> {
    try {
      await this.#recover();
      if (this.#options.isShared !== true || this.#isReloadDue) this.#budgets.apply(await this.#loadTotals());
      this.#isLoaded = true;
      this.#isReloadDue = false;
      this.#isFailing = false;
    } catch (error) {
      this.#reportFailure(error);
      this.#clock.setTimeout(() => void this.#load(), RETRY_MS).unref();
    }
  }

  /** Never rejects. Waits for what is being read: see `#refreshPart`. */
  async #write(): Promise<void> {
    while (this.#reading !== null) await this.#reading;
    this.#writing ??= this.#writeBatch().finally(() => {
      this.#writing = null;
    });
    await this.#writing;
  }

  async #writeBatch(): Promise<void> {
    this.#pending ??= this.#nextBatch();
    const batch = this.#pending;
    if (batch === null) return;
    try {
      const { budgets, ...written } = batch;
      const totals = await this.#journal.writeSpending(written);
      this.#options.onClockMeasured?.(this.#journal.clockAheadMs ?? 0);
      this.#pending = null;
      this.#isFailing = false;
      this.#last = budgets[0] ?? null;
      this.#lastWrittenAt = this.#clock.now();
      for (const [at, budget] of budgets.entries()) {
        budget.unwritten -= batch.changes[at]?.spentChange ?? 0;
        budget.reservedWritten = batch.changes[at]?.reserved ?? 0;
        const total = totals[at];
        if (total !== undefined) budget.apply(total);
        this.#releaseSlot(budget);
      }
      if (this.#changed.size > 0)
        this.#schedule(batch.changes.length < MAX_BATCH_CHANGES ? WRITE_DELAY_MS : 0);
    } catch (error) {
      this.#reportFailure(error);
      this.#schedule(RETRY_MS);
    }
  }

  /** Attempts are repeated every second, so only the first failure is reported. */
  #reportFailure(error: unknown): void {
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#options.onJournalError?.(error);
  }

  #releaseSlot(budget: Budget): void {
    const { unwritten, reservedHere, reservedWritten } = budget;
    if (budget.slot === -1 || unwritten !== 0 || reservedHere > 0 || reservedWritten > 0) return;
    this.#file?.release(budget.slot);
    budget.slot = -1;
  }

  #nextBatch(): PendingBatch | null {
    if (this.#changed.size === 0) return null;
    const budgets = [...this.#changed].slice(0, MAX_BATCH_CHANGES);
    for (const budget of budgets) {
      this.#changed.delete(budget);
      if (budget.reservedHere > 0) this.#open.add(budget);
      else this.#open.delete(budget);
    }
    const changes = budgets.map((budget) => budget.nextChange(this.#options.isShared === true));
    const [number, writtenAt] = [++this.#batches, this.#clock.unixNow()];
    for (const { slot, spentHere, reservedHere } of budgets)
      if (slot !== -1) this.#file?.mark(slot, number, spentHere, reservedHere);
    this.#file?.startBatch(number);
    const isClockSteady = Math.abs(writtenAt - this.#clock.now() - this.#startedOffset) < STEADY_MS;
    return { writer: this.#writer, number, writtenAt, isClockSteady, changes, budgets };
  }
}
