// Charges what killed processes had spent and reserved and had not written to the database.
import type { Clock } from "../base/clock.ts";
import { LeftFiles } from "../journal/left-files.ts";
import type { SlotFileContent } from "../journal/slot-file.ts";
import type { Budget, Budgets } from "./budgets.ts";
import { SPENT_SUFFIX, spentEntriesIn } from "./spent-file.ts";
import type { JournalBatch, SpentJournal } from "./spent-journal.ts";
import { add } from "./window.ts";

interface RecoveryParts {
  readonly directory: string;
  readonly journal: SpentJournal;
  readonly budgets: Budgets;
  /** The writer whose file is in use. */
  readonly ownWriter: string;
  readonly clock: Clock;
  /** Called with the new path of a file that could not be read. Its amounts are not charged. */
  readonly onDamagedFile: (path: string) => void;
}

export class SpendingRecovery {
  readonly #parts: RecoveryParts;
  readonly #files: LeftFiles;
  #uncertain: readonly SlotFileContent[] = [];
  /** Budgets with amounts of processes that may have ended. */
  readonly #held = new Set<Budget>();

  constructor(parts: RecoveryParts) {
    this.#parts = parts;
    this.#files = new LeftFiles({ ...parts, suffix: SPENT_SUFFIX });
  }

  /**
   * Charges what ended processes have not written. Returns whether the amounts in the journal may have changed since the last call: then
   * read them before `holdUncertain`. Rejects if the journal is unavailable.
   */
  async finishEnded(): Promise<boolean> {
    const { journal, clock } = this.#parts;
    const { hasEnded, uncertain } = await this.#files.finishEnded((content) =>
      journal.finishSpending(
        content.writer,
        (written) => finalBatchOf(content, written, clock.unixNow()),
        clock.unixNow(),
      ),
    );
    this.#uncertain = uncertain;
    return hasEnded;
  }

  /** Counts as reserved what processes have not written that may have ended. */
  async holdUncertain(): Promise<void> {
    const batches: (JournalBatch | null)[] = [];
    for (const content of this.#uncertain) batches.push(await this.#unwrittenOf(content));
    for (const budget of this.#held) budget.reservedByUncertain = 0;
    this.#held.clear();
    for (const batch of batches) if (batch !== null) this.#hold(batch);
  }

  /** Writes nothing. */
  async #unwrittenOf(content: SlotFileContent): Promise<JournalBatch | null> {
    let batch: JournalBatch | null = null;
    const unixMs = this.#parts.clock.unixNow();
    const note = (written: number) => {
      batch = finalBatchOf(content, written, unixMs);
      return null;
    };
    await this.#parts.journal.finishSpending(content.writer, note, unixMs);
    return batch;
  }

  /** The journal counts `reservedBefore` already. */
  #hold({ changes }: JournalBatch): void {
    for (const { budget: target, spentChange, reserved, reservedBefore } of changes) {
      const amount = spentChange + reserved - reservedBefore;
      if (amount <= 0) continue;
      const budget = this.#parts.budgets.findOrCreate(target);
      budget.reservedByUncertain = add(budget.reservedByUncertain, amount);
      this.#held.add(budget);
    }
  }
}

/**
 * Returns what remains to be written if batch `written` is the last one that the database has, or null if that was done before. Open
 * reservations are charged as reserved.
 */
function finalBatchOf(content: SlotFileContent, written: number, writtenAt: number): JournalBatch | null {
  const { writer, lastBatch } = content;
  if (written > lastBatch) return null;
  const changes = spentEntriesIn(content).map(({ budget, isShared, spent, reserved, marks }) => {
    const [mark] = marks.filter(({ batch }) => batch <= written).toSorted((a, b) => b.batch - a.batch);
    const unwritten = spent - (mark?.spent ?? spent);
    const reservedBefore = mark?.reserved ?? 0;
    // Redis charges the open reservations as well, apart from the sum of the process. So does the journal.
    if (isShared) return { budget, spentChange: unwritten, sum: spent, reserved, reservedBefore };
    return { budget, spentChange: unwritten + reserved, reserved: 0, reservedBefore };
  });
  return { writer, number: lastBatch + 1, writtenAt, changes };
}
