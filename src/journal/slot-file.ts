// A file that is mapped into the memory of one process and survives its death: named entries of a few numbers each. A store to it takes
// a nanosecond. See docs/decisions/0107-killed-processes.md.
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { errorCode } from "../base/error-code.ts";
import { thisProcess } from "./process-owner.ts";

/** The first slot is the header. An entry has a slot, and further ones if its name is long. */
const SLOT_BYTES = 512;
const SLOTS = 4096;
const NUMBERS_PER_SLOT = SLOT_BYTES / 8;
/** The numbers of an entry are at the start of its slot; the length of the name and the name follow. */
const NUMBERS_PER_ENTRY = 8;
const NAME_LENGTH = NUMBERS_PER_ENTRY;
const NAME_START = (NAME_LENGTH + 1) * 8;
/** The last number of a slot: the slot in which the name continues. */
const NEXT = NUMBERS_PER_SLOT - 1;
const NAME_BYTES_PER_SLOT = NEXT * 8 - NAME_START;
/** Numbers of the header. */
const LAST_BATCH = 0;
const ALIVE_AT = 1;
/** A file has this suffix until its header is complete, so that another process does not take it for damaged. */
export const INCOMPLETE = ".new";
/** Limits the disk space of processes that are killed again and again while the database is unavailable. */
const MAX_FILES = 256;

export interface SlotFileHeader {
  /** Identifies the process in the database. */
  readonly writer: string;
  /** Identifies the process on this machine. */
  readonly owner: unknown;
  /** Unix milliseconds of the last sign of life. */
  readonly aliveAt: number;
}

interface SlotEntry {
  /** As JSON has it. */
  readonly name: unknown;
  readonly numbers: readonly number[];
}

/** The last state of a process. */
export interface SlotFileContent extends SlotFileHeader {
  /** The number of the last batch that the process has started to write. */
  readonly lastBatch: number;
  readonly entries: readonly SlotEntry[];
}

export class SlotFile {
  readonly #path: string;
  readonly #bytes: Uint8Array;
  readonly #numbers: Float64Array;
  readonly #free: number[] = [];
  #used = 1;

  /** Throws if the file cannot be created. */
  constructor(directory: string, suffix: string, writer: string, owner: unknown = thisProcess()) {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    if (readdirSync(directory).length >= MAX_FILES)
      throw new Error(`${directory} has ${MAX_FILES} files; remove those that no process uses`);
    this.#path = join(directory, `${writer}${suffix}`);
    const incomplete = `${this.#path}${INCOMPLETE}`;
    const file = openSync(incomplete, "wx+", 0o600);
    try {
      // Written, not only extended: a store to a page without space on the disk would end the process.
      const zeros = new Uint8Array(SLOT_BYTES * SLOTS);
      for (let at = 0; at < zeros.length;) at += writeSync(file, zeros, at);
      this.#bytes = Bun.mmap(incomplete, { shared: true });
      const { buffer, byteOffset, byteLength } = this.#bytes;
      this.#numbers = new Float64Array(buffer, byteOffset, byteLength / 8);
      this.#writeName([0], new TextEncoder().encode(JSON.stringify({ writer, owner })));
      renameSync(incomplete, this.#path);
    } catch (error) {
      removeFile(incomplete);
      throw error;
    } finally {
      closeSync(file);
    }
  }

  /** Returns the slot of a new entry with these numbers, then zeros; -1 if there is no space left. */
  allocate(name: unknown, numbers: readonly number[] = []): number {
    const bytes = new TextEncoder().encode(JSON.stringify(name));
    const count = slotsFor(bytes.length);
    if (this.freeSlots < count) return -1;
    const slots = Array.from({ length: count }, () => this.#free.pop() ?? this.#used++);
    const [slot = -1] = slots;
    for (let at = 0; at < NUMBERS_PER_ENTRY; at++) this.set(slot, at, numbers[at] ?? 0);
    this.#writeName(slots, bytes);
    return slot;
  }

  get freeSlots(): number {
    return this.#free.length + SLOTS - this.#used;
  }

  /** Returns how many slots an entry has. */
  sizeOf(slot: number): number {
    return slotsFor(this.get(slot, NAME_LENGTH));
  }

  get(slot: number, number: number): number {
    return this.#numbers[slot * NUMBERS_PER_SLOT + number] ?? 0;
  }

  /** `number` is an index: an entry has eight numbers. */
  set(slot: number, number: number, value: number): void {
    this.#numbers[slot * NUMBERS_PER_SLOT + number] = value;
  }

  /** Call when nothing of an entry has to survive. */
  release(slot: number): void {
    const start = slot * NUMBERS_PER_SLOT;
    let left = this.#numbers[start + NAME_LENGTH] ?? 0;
    this.#numbers[start + NAME_LENGTH] = 0;
    for (let at = slot; left > 0; left -= NAME_BYTES_PER_SLOT) {
      this.#free.push(at);
      at = this.#numbers[at * NUMBERS_PER_SLOT + NEXT] ?? 0;
    }
  }

  /** Call after the entries of a batch know its number, before it is written. */
  startBatch(batch: number): void {
    this.#numbers[LAST_BATCH] = batch;
  }

  renew(unixMs: number): void {
    this.#numbers[ALIVE_AT] = unixMs;
  }

  /** Deletes the file, if everything is written. */
  remove(): void {
    removeFile(this.#path);
  }

  /** The length is written last: without it, there is no entry. */
  #writeName(slots: readonly number[], bytes: Uint8Array): void {
    for (const [at, slot] of slots.entries()) {
      const part = bytes.subarray(at * NAME_BYTES_PER_SLOT, (at + 1) * NAME_BYTES_PER_SLOT);
      this.#numbers[slot * NUMBERS_PER_SLOT + NAME_LENGTH] = 0;
      this.#bytes.set(part, slot * SLOT_BYTES + NAME_START);
      const next = slots[at + 1];
      if (next !== undefined) this.#numbers[slot * NUMBERS_PER_SLOT + NEXT] = next;
    }
    this.#numbers[(slots[0] ?? 0) * NUMBERS_PER_SLOT + NAME_LENGTH] = bytes.length;
  }
}

function slotsFor(nameBytes: number): number {
  return Math.max(1, Math.ceil(nameBytes / NAME_BYTES_PER_SLOT));
}

/** Reads the header only. Returns null if the file does not exist; throws a SyntaxError if it is damaged. */
export function readSlotHeader(path: string): SlotFileHeader | null {
  const bytes = Buffer.alloc(SLOT_BYTES);
  try {
    const file = openSync(path, "r");
    try {
      readSync(file, bytes, 0, SLOT_BYTES, 0);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  }
  return headerIn(new SlotReader(bytes));
}

/** Returns null if the file does not exist; throws a SyntaxError if it is damaged. */
export function readSlotFile(path: string): SlotFileContent | null {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  }
  if (bytes.length !== SLOT_BYTES * SLOTS) throw new SyntaxError(`${path} has ${bytes.length} bytes`);
  const reader = new SlotReader(bytes);
  const entries: SlotEntry[] = [];
  for (let slot = 1; slot < SLOTS; slot++) {
    const name = reader.nameOf(slot);
    if (name === null) continue;
    const numbers = Array.from({ length: NUMBERS_PER_ENTRY }, (_, number) => reader.number(slot, number));
    entries.push({ name, numbers });
  }
  return { ...headerIn(reader), lastBatch: reader.number(0, LAST_BATCH), entries };
}

function headerIn(reader: SlotReader): SlotFileHeader {
  const name = reader.nameOf(0);
  if (typeof name !== "object" || name === null || !("writer" in name) || !("owner" in name))
    throw new SyntaxError("the file has no header");
  return { writer: String(name.writer), owner: name.owner, aliveAt: reader.number(0, ALIVE_AT) };
}

class SlotReader {
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  number(slot: number, number: number): number {
    return this.#bytes.readDoubleLE(slot * SLOT_BYTES + number * 8);
  }

  /** Returns null if the slot is free, or continues the name of another one. */
  nameOf(slot: number): unknown {
    const length = this.number(slot, NAME_LENGTH);
    if (length === 0) return null;
    if (!(length <= this.#bytes.length)) throw new SyntaxError(`slot ${slot} has a name of ${length} bytes`);
    const parts: Buffer[] = [];
    let at = slot;
    for (let left = length; left > 0; left -= NAME_BYTES_PER_SLOT) {
      const isInside = Number.isInteger(at) && at >= 0 && (at + 1) * SLOT_BYTES <= this.#bytes.length;
      if (!isInside) throw new SyntaxError(`slot ${slot} continues in slot ${at}`);
      const start = at * SLOT_BYTES + NAME_START;
      parts.push(this.#bytes.subarray(start, start + Math.min(left, NAME_BYTES_PER_SLOT)));
      at = this.number(at, NEXT);
    }
    return JSON.parse(Buffer.concat(parts).toString("utf8")) as unknown;
  }
}

/** Does nothing if the file does not exist. */
export function removeFile(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
}
