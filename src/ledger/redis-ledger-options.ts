// The options of a ledger in Redis.
import type { Clock } from "../base/clock.ts";
import type { JournalWriterOptions } from "./journal-writer-options.ts";
import type { BudgetTarget, LedgerState } from "./ledger.ts";
import type { UnusableKeys } from "./redis-data-error.ts";
import type { EpochLoss } from "./redis-epochs.ts";
import type { AccountJournal } from "./spent-journal.ts";

export interface RedisLedgerOptions extends Pick<
  JournalWriterOptions,
  "directory" | "onFileError" | "onDamagedFile" | "onJournalError" | "onClockMeasured"
> {
  /** Where spent amounts of budgets are kept, whatever happens to Redis. Without it, budgets are unavailable. */
  readonly journal?: AccountJournal;
  /** Called when Redis becomes available or unavailable, or the reason changes. */
  readonly onStateChange?: (state: LedgerState) => void;
  /** Called with each decision that was made without Redis and did not just fail. */
  readonly onLocalDecision?: () => void;
  /** Called when Redis may have lost data of a gateway. */
  readonly onLost?: (loss: EpochLoss) => void;
  /** Called now and then while Redis has keys of a gateway whose data cannot be used. */
  readonly onUnusableKeys?: (unusable: UnusableKeys) => void;
  /** Called when Redis had less of a budget than the database. */
  readonly onRaised?: (gatewayId: string, budget: BudgetTarget, raised: number) => void;
  /** How long Redis may send no reply before it is unavailable. */
  readonly silenceTimeoutMs?: number;
  /** How long after the last reply of Redis decisions wait that would fail without it. */
  readonly closedTimeoutMs?: number;
  /** The clock of this process, for decisions without Redis, leases and timeouts. */
  readonly clock?: Clock;
  /** Milliseconds to use instead of Redis's clock, so that tests can control the time of the production scripts. */
  readonly time?: () => number;
}
