// The usage that a process has counted and not yet written to the database, in a file that survives its death.
// See docs/decisions/0107-killed-processes.md.
import { SlotFile, type SlotFileContent } from "../journal/slot-file.ts";
import type { UsageBatch, UsageTotal } from "../store/usage.ts";

export const USAGE_SUFFIX = ".usage";
/** The number of the batch that has the total; 0 before there is one. The sums follow in the order of SUMS. */
const BATCH = 0;
const SUMS = [
  "requests",
  "partialRequests",
  "inputTokens",
  "outputTokens",
  "costNanos",
  "unpricedRequests",
] as const;

/** The fields that the database distinguishes totals by, then those that are stored with them. */
const NAMES = [
  "gatewayId",
  "day",
  "apiKeyId",
  "model",
  "ruleId",
  "provider",
  "labelSet",
  "purpose",
  "apiKeyName",
  "ruleName",
  "labels",
] as const;
const KEY_LENGTH = 8;

/** Totals for which there is no space are in memory only. */
export class UsageFile {
  readonly #slots: SlotFile;
  /** Slots by gateway. */
  readonly #usedBy = new Map<string, number>();

  /** Throws if the file cannot be created. */
  constructor(directory: string, writer: string) {
    this.#slots = new SlotFile(directory, USAGE_SUFFIX, writer);
  }

  /** Returns the slot of a total, or -1 if there is none left for its gateway. */
  allocate(total: UsageTotal): number {
    const { gatewayId } = total;
    const used = this.#usedBy.get(gatewayId) ?? 0;
    // Clients may send any model name: a gateway must not take the space of others. It gets half, two get a third each.
    if (used >= this.#slots.freeSlots) return -1;
    const slot = this.#slots.allocate(NAMES.map((name) => total[name]));
    if (slot !== -1) this.#usedBy.set(gatewayId, used + this.#slots.sizeOf(slot));
    return slot;
  }

  update(slot: number, total: UsageTotal): void {
    const slots = this.#slots;
    slots.set(slot, 1, total.requests);
    slots.set(slot, 2, total.partialRequests);
    slots.set(slot, 3, total.inputTokens);
    slots.set(slot, 4, total.outputTokens);
    slots.set(slot, 5, total.costNanos);
    slots.set(slot, 6, total.unpricedRequests);
  }

  /** Call before a batch with these totals is written. All earlier batches are known to be written, or are given up. */
  startBatch(batch: number, slots: readonly number[]): void {
    for (const slot of slots) this.#slots.set(slot, BATCH, batch);
    this.#slots.startBatch(batch);
  }

  /** Call when a total is written. */
  release(slot: number, { gatewayId }: UsageTotal): void {
    const used = (this.#usedBy.get(gatewayId) ?? 0) - this.#slots.sizeOf(slot);
    if (used > 0) this.#usedBy.set(gatewayId, used);
    else this.#usedBy.delete(gatewayId);
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

/** Throws a SyntaxError if sums are damaged. Returns what remains to be written if batch `written` is the last one that the database has; null if that was done before. */
export function finalUsageBatch(
  { writer, lastBatch, entries }: SlotFileContent,
  written: number,
): UsageBatch | null {
  if (written > lastBatch) return null;
  const totals = new Map<string, UsageTotal>();
  for (const { name, numbers } of entries) {
    const batch = numbers[BATCH] ?? 0;
    if (!Array.isArray(name) || (batch > 0 && batch <= written)) continue;
    const texts = name.map(String);
    const key = JSON.stringify(texts.slice(0, KEY_LENGTH));
    const sums = SUMS.map((_, at) => numbers[at + 1] ?? 0);
    if (!sums.every((sum) => Number.isFinite(sum) && sum >= 0))
      throw new SyntaxError(`sums ${sums.join(", ")}`);
    const known = totals.get(key);
    // Two batches may have the same key, one statement may not.
    if (known === undefined) totals.set(key, totalOf(texts, sums));
    else for (const [at, sum] of SUMS.entries()) known[sum] += sums[at] ?? 0;
  }
  return { writer, number: lastBatch + 1, totals: [...totals.values()] };
}

function totalOf(texts: readonly string[], sums: readonly number[]): UsageTotal {
  const total: Record<string, string | number> = {};
  for (const [at, name] of NAMES.entries()) total[name] = texts[at] ?? "";
  for (const [at, name] of SUMS.entries()) total[name] = sums[at] ?? 0;
  // NAMES and SUMS are the fields of a total.
  return total as unknown as UsageTotal;
}
