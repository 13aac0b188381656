// What a process has spent and reserved of budgets and not yet written to the database, in a file that is mapped into its memory: a store
// to it takes a nanosecond and survives the death of the process. See docs/decisions/0107-killed-processes.md.
import { closeSync, mkdirSync, openSync, readFileSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { BudgetTarget } from "./ledger.ts";

/** Slots of 512 bytes; the first one is the header. Budgets beyond them are in the database only. */
const SLOT_BYTES = 512;
const SLOTS = 4096;
const NUMBERS_PER_SLOT = SLOT_BYTES / 8;
/** Numbers at the start of a slot; the name follows. */
const SPENT = 0;
const RESERVED = 1;
/** Two marks of three numbers: batch, spent, reserved. */
const MARKS = [2, 5] as const;
const NAME_LENGTH = 8;
const NAME_START = 9 * 8;
/** Numbers of the header. */
const LAST_BATCH = 0;
const ALIVE_AT = 1;
const SUFFIX = ".spent";

/** The amounts of a budget that a batch has written. */
interface SpentMark {
  readonly batch: number;
  readonly spent: number;
  readonly reserved: number;
}

/** `spent` is a running sum; the difference to a mark was spent since that batch. */
interface SpentEntry {
  readonly budget: BudgetTarget;
  readonly spent: number;
  readonly reserved: number;
  readonly marks: readonly SpentMark[];
}

/** The last state of a process. */
export interface SpentFileContent {
  readonly writer: string;
  /** Identifies the process on this machine. */
  readonly owner: unknown;
  /** Unix milliseconds of the last sign of life. */
  readonly aliveAt: number;
  /** The number of the last batch that the process has started to write. */
  readonly lastBatch: number;
  readonly entries: readonly SpentEntry[];
}

/** By its name only: `readSpentFile` checks the content. */
export function isSpentFile(name: string): boolean {
  return name.endsWith(SUFFIX);
}

export class SpentFile {
  readonly #path: string;
  readonly #bytes: Uint8Array;
  readonly #numbers: Float64Array;
  readonly #free: number[] = [];
  #used = 1;

  /** Throws if the file cannot be created. */
  constructor(directory: string, writer: string, owner: unknown) {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    this.#path = join(directory, `${writer}${SUFFIX}`);
    const file = openSync(this.#path, "wx+", 0o600);
    try {
      // Written, not only extended: a store to a page without space on the disk would end the process.
      const zeros = new Uint8Array(SLOT_BYTES * SLOTS);
      for (let at = 0; at < zeros.length;) at += writeSync(file, zeros, at);
      this.#bytes = Bun.mmap(this.#path, { shared: true });
    } catch (error) {
      unlinkSync(this.#path);
      throw error;
    } finally {
      closeSync(file);
    }
    const { buffer, byteOffset, byteLength } = this.#bytes;
    this.#numbers = new Float64Array(buffer, byteOffset, byteLength / 8);
    this.#writeName(0, JSON.stringify({ writer, owner }));
  }

  /** Returns the slot of a budget that has written `spent`, or -1 if there is none left. */
  allocate({ key, period, endsAt }: BudgetTarget, spent: number): number {
    const slot = this.#free.pop() ?? (this.#used < SLOTS ? this.#used++ : -1);
    if (slot === -1) return -1;
    const start = slot * NUMBERS_PER_SLOT;
    this.#numbers.fill(0, start, start + NAME_LENGTH + 1);
    this.#numbers[start + SPENT] = spent;
    for (const mark of MARKS) this.#numbers[start + mark + 1] = spent;
    if (this.#writeName(slot, JSON.stringify([key, period, endsAt]))) return slot;
    this.#free.push(slot);
    return -1;
  }

  /** In this order: if the process dies in between, a settled reservation counts twice, and not never. */
  update(slot: number, spent: number, reserved: number): void {
    this.#numbers[slot * NUMBERS_PER_SLOT + SPENT] = spent;
    this.#numbers[slot * NUMBERS_PER_SLOT + RESERVED] = reserved;
  }

  /** Call before a batch with these amounts is written. All earlier batches are known to be written. */
  mark(slot: number, batch: number, spent: number, reserved: number): void {
    const start = slot * NUMBERS_PER_SLOT;
    const [first, second] = [start + MARKS[0], start + MARKS[1]];
    const older = (this.#numbers[first] ?? 0) <= (this.#numbers[second] ?? 0) ? first : second;
    this.#numbers[older] = Infinity;
    this.#numbers[older + 1] = spent;
    this.#numbers[older + 2] = reserved;
    this.#numbers[older] = batch;
  }

  /** Call after the marks of a batch, before it is written. */
  startBatch(batch: number): void {
    this.#numbers[LAST_BATCH] = batch;
  }

  /** Call when nothing of a budget is unwritten or reserved. */
  release(slot: number): void {
    this.#numbers[slot * NUMBERS_PER_SLOT + NAME_LENGTH] = 0;
    this.#free.push(slot);
  }

  renew(unixMs: number): void {
    this.#numbers[ALIVE_AT] = unixMs;
  }

  /** Deletes the file, if everything is written. */
  remove(): void {
    unlinkSync(this.#path);
  }

  /** Returns false if the name is too long. */
  #writeName(slot: number, name: string): boolean {
    const start = slot * SLOT_BYTES + NAME_START;
    const bytes = new TextEncoder().encode(name);
    if (bytes.length > SLOT_BYTES - NAME_START) return false;
    this.#bytes.set(bytes, start);
    this.#numbers[slot * NUMBERS_PER_SLOT + NAME_LENGTH] = bytes.length;
    return true;
  }
}

/** Returns null if the file is not one of these, for example because its process died while it created the file. */
export function readSpentFile(path: string): SpentFileContent | null {
  const bytes = readFileSync(path);
  if (bytes.length !== SLOT_BYTES * SLOTS) return null;
  const numbers = new Float64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  const nameOf = (slot: number): unknown => {
    const [start, length] = [
      slot * SLOT_BYTES + NAME_START,
      numbers[slot * NUMBERS_PER_SLOT + NAME_LENGTH] ?? 0,
    ];
    return length === 0 ? null : (JSON.parse(bytes.toString("utf8", start, start + length)) as unknown);
  };
  const header = nameOf(0);
  if (typeof header !== "object" || header === null || !("writer" in header) || !("owner" in header))
    return null;
  const entries: SpentEntry[] = [];
  for (let slot = 1; slot < SLOTS; slot++) {
    const name = nameOf(slot);
    if (!Array.isArray(name)) continue;
    const [key, period, endsAt] = name as unknown[];
    const at = (offset: number) => numbers[slot * NUMBERS_PER_SLOT + offset] ?? 0;
    entries.push({
      budget: {
        kind: "budget",
        key: String(key),
        period: String(period),
        endsAt: typeof endsAt === "number" ? endsAt : null,
      },
      spent: at(SPENT),
      reserved: at(RESERVED),
      marks: MARKS.map((mark) => ({ batch: at(mark), spent: at(mark + 1), reserved: at(mark + 2) })),
    });
  }
  const [lastBatch = 0, aliveAt = 0] = [numbers[LAST_BATCH], numbers[ALIVE_AT]];
  return { writer: String(header.writer), owner: header.owner, aliveAt, lastBatch, entries };
}
