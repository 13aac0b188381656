// What a process has spent and reserved of budgets and not yet written to the database, in a file that survives its death.
// See docs/decisions/0107-killed-processes.md.
import { SlotFile, type SlotFileContent } from "../journal/slot-file.ts";
import type { BudgetTarget } from "./ledger.ts";

export const SPENT_SUFFIX = ".spent";
/** Numbers of an entry; `allocate` has them in this order. */
const SPENT = 0;
const RESERVED = 1;
/** Two marks of three numbers: batch, spent, reserved. */
const MARKS = [2, 5] as const;

/** The amounts of a budget that a batch has written. */
interface SpentMark {
  readonly batch: number;
  readonly spent: number;
  readonly reserved: number;
}

/** `spent` is a running sum; the difference to a mark was spent since that batch. */
interface SpentEntry {
  /** The process also wrote its sums to Redis: see JournalChange. */
  readonly isShared: boolean;
  readonly budget: BudgetTarget;
  readonly spent: number;
  readonly reserved: number;
  readonly marks: readonly SpentMark[];
}

/** Budgets for which there is no space are in the database only. */
export class SpentFile {
  readonly #slots: SlotFile;
  readonly #isShared: boolean;

  /** Throws if the file cannot be created. `isShared`: see SpentEntry. */
  constructor(directory: string, writer: string, isShared: boolean, owner?: unknown) {
    this.#isShared = isShared;
    this.#slots = new SlotFile(directory, SPENT_SUFFIX, writer, owner);
  }

  /** Returns the slot of a budget that has written `spent`, or -1 if there is none left. */
  allocate({ key, period, endsAt }: BudgetTarget, spent: number): number {
    return this.#slots.allocate([key, period, endsAt, this.#isShared], [spent, 0, 0, spent, 0, 0, spent, 0]);
  }

  /** In this order: if the process dies in between, a settled reservation counts twice, and not never. */
  update(slot: number, spent: number, reserved: number): void {
    this.#slots.set(slot, SPENT, spent);
    this.#slots.set(slot, RESERVED, reserved);
  }

  /** Call before a batch with these amounts is written. All earlier batches are known to be written. */
  mark(slot: number, batch: number, spent: number, reserved: number): void {
    const [first, second] = MARKS;
    const older = this.#slots.get(slot, first) <= this.#slots.get(slot, second) ? first : second;
    this.#slots.set(slot, older, Infinity);
    this.#slots.set(slot, older + 1, spent);
    this.#slots.set(slot, older + 2, reserved);
    this.#slots.set(slot, older, batch);
  }

  /** Call after the marks of a batch, before it is written. */
  startBatch(batch: number): void {
    this.#slots.startBatch(batch);
  }

  /** Call when nothing of a budget is unwritten or reserved. */
  release(slot: number): void {
    this.#slots.release(slot);
  }

  renew(unixMs: number): void {
    this.#slots.renew(unixMs);
  }

  /** Deletes the file, if everything is written. */
  remove(): void {
    this.#slots.remove();
  }
}

/** Throws a SyntaxError if amounts are damaged. */
export function spentEntriesIn({ entries }: SlotFileContent): SpentEntry[] {
  return entries.flatMap(({ name, numbers }) => {
    if (!Array.isArray(name)) return [];
    const [key, period, endsAt, isShared] = name as unknown[];
    const at = (number: number) => numbers[number] ?? 0;
    // The batch of a mark is infinite while the mark changes.
    if (![at(SPENT), at(RESERVED)].every(Number.isFinite))
      throw new SyntaxError(`amounts ${at(SPENT)} and ${at(RESERVED)} of ${String(key)}`);
    return {
      isShared: isShared === true,
      budget: {
        kind: "budget",
        key: String(key),
        period: String(period),
        endsAt: typeof endsAt === "number" ? endsAt : null,
      },
      spent: at(SPENT),
      reserved: at(RESERVED),
      marks: MARKS.map((mark) => ({ batch: at(mark), spent: at(mark + 1), reserved: at(mark + 2) })),
    };
  });
}
