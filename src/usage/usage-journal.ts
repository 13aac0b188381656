// Keeps the usage that is not written yet for the case that this process is killed, and writes what killed processes have left.
import type { Clock } from "../base/clock.ts";
import { LeftFiles } from "../journal/left-files.ts";
import type { UsageBatch, UsageTotal } from "../store/usage.ts";
import type { Log } from "../telemetry/log/log.ts";
import { finalUsageBatch, USAGE_SUFFIX, UsageFile } from "./usage-file.ts";

interface UsageJournalParts {
  /** One per node. */
  readonly directory: string;
  readonly writer: string;
  readonly store: {
    finishUsage(writer: string, batchAfter: (written: number) => UsageBatch | null): Promise<void>;
  };
  readonly log: Log;
  readonly clock: Clock;
}

export class UsageJournal {
  readonly #parts: UsageJournalParts;
  readonly #files: LeftFiles;
  readonly #slots = new Map<UsageTotal, number>();
  /** Undefined before the first request, null if it could not be created or is not needed any more. */
  #file: UsageFile | null | undefined;
  /** The total of the last request, which is often that of the next one too. */
  #last: UsageTotal | null = null;
  #lastSlot = -1;
  #isFailing = false;

  constructor(parts: UsageJournalParts) {
    this.#parts = parts;
    const onDamagedFile = (path: string) =>
      parts.log.warn({ path }, "file with usage of a killed process is damaged; it is not counted");
    this.#files = new LeftFiles({ ...parts, suffix: USAGE_SUFFIX, ownWriter: parts.writer, onDamagedFile });
  }

  /** Call after every change of a total: a few stores to memory. */
  update(total: UsageTotal): void {
    if (total !== this.#last) {
      this.#lastSlot = this.#slotOf(total);
      this.#last = total;
    }
    if (this.#lastSlot !== -1) this.#file?.update(this.#lastSlot, total);
  }

  startBatch({ number, totals }: UsageBatch): void {
    const slots = totals.flatMap((total) => this.#slots.get(total) ?? []);
    this.#file?.startBatch(number, slots);
  }

  /** Call when totals are written or dropped. */
  release(totals: readonly UsageTotal[]): void {
    for (const total of totals) {
      const slot = this.#slots.get(total);
      if (slot === undefined) continue;
      this.#file?.release(slot, total);
      this.#slots.delete(total);
    }
    this.#last = null;
  }

  /** Call within the 30 seconds after which a process counts as ended whose id is not known. */
  renew(): void {
    this.#file?.renew(this.#parts.clock.unixNow());
  }

  /** Writes what ended processes have left. Never rejects. */
  async recover(): Promise<void> {
    const { store, log } = this.#parts;
    try {
      await this.#files.finishEnded((content) =>
        store.finishUsage(content.writer, (written) => finalUsageBatch(content, written)),
      );
      this.#isFailing = false;
    } catch (error) {
      // Attempts are repeated, so only the first failure is reported.
      if (!this.#isFailing) log.warn({ err: error }, "usage of killed processes not written; will retry");
      this.#isFailing = true;
    }
  }

  /** Returns how many of these totals are lost when this process ends. */
  close(unwritten: readonly UsageTotal[]): number {
    const lost = unwritten.filter((total) => !this.#slots.has(total)).length;
    if (unwritten.length === 0) this.#file?.remove();
    this.#file = null;
    return lost;
  }

  #slotOf(total: UsageTotal): number {
    const known = this.#slots.get(total);
    if (known !== undefined) return known;
    const file = this.#file === undefined ? this.#openFile() : this.#file;
    const slot = file?.allocate(total) ?? -1;
    if (slot !== -1) this.#slots.set(total, slot);
    return slot;
  }

  #openFile(): UsageFile | null {
    const { directory, writer, log } = this.#parts;
    try {
      this.#file = new UsageFile(directory, writer);
      this.renew();
    } catch (error) {
      this.#file = null;
      log.warn(
        { err: error },
        "file for unwritten usage not created in DATA_DIR; the last second is not counted if this process is killed",
      );
    }
    return this.#file;
  }
}
