// Writes records to a file in batches, outside the request path. Records that cannot be written in time are dropped and counted.
import type { Clock, ClockTimer } from "../../base/clock.ts";
import type { Log } from "../log/log.ts";
import type { RecordOutput, SinkCounts } from "./request-sink.ts";
import { RotatingFile, type RotatingFileOptions } from "./rotating-file.ts";

const WAIT_MS = 200;
const RETRY_MS = 1000;
const MAX_BATCH_CHARACTERS = 256 * 1024;
export const MAX_QUEUED_CHARACTERS = 8 * 1024 * 1024;

interface FileSinkParts {
  readonly file: RotatingFileOptions;
  readonly counts: SinkCounts;
  readonly log: Log;
  readonly clock: Clock;
}

export class FileSink implements RecordOutput {
  readonly #path: string;
  readonly #file: RotatingFile;
  readonly #counts: SinkCounts;
  readonly #log: Log;
  readonly #clock: Clock;
  #lines: string[] = [];
  #queuedCharacters = 0;
  #timer: ClockTimer | null = null;
  #writing: Promise<void> | null = null;
  #isFailing = false;

  constructor({ file, counts, log, clock }: FileSinkParts) {
    this.#path = file.path;
    this.#file = new RotatingFile(file);
    this.#counts = counts;
    this.#log = log;
    this.#clock = clock;
  }

  write(line: string): void {
    if (this.#queuedCharacters + line.length > MAX_QUEUED_CHARACTERS) {
      this.#counts.dropped(1);
      return;
    }
    this.#lines.push(`${line}\n`);
    this.#queuedCharacters += line.length;
    if (this.#queuedCharacters >= MAX_BATCH_CHARACTERS && !this.#isFailing) void this.#flush();
    else this.#timer ??= this.#clock.setTimeout(() => void this.#flush(), WAIT_MS);
  }

  /** Writes what is queued, and drops what cannot be written. */
  async close(): Promise<void> {
    await this.#writing;
    await this.#flush();
    this.#timer?.close();
    this.#counts.dropped(this.#lines.length);
    this.#lines = [];
    await this.#file.close();
  }

  #flush(): Promise<void> {
    this.#timer?.close();
    this.#timer = null;
    this.#writing ??= this.#writeAll().finally(() => (this.#writing = null));
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    while (this.#lines.length > 0) {
      const count = this.#batchSize();
      const rest = await this.#append(this.#lines.slice(0, count).join(""));
      const written = this.#lines.splice(0, count - rest);
      this.#queuedCharacters -= written.reduce((total, line) => total + line.length - 1, 0);
      this.#counts.written(written.length);
      if (rest > 0) {
        this.#timer ??= this.#clock.setTimeout(() => void this.#flush(), RETRY_MS);
        return;
      }
    }
  }

  /** Returns how many of the lines were not written. */
  async #append(lines: string): Promise<number> {
    let problem: unknown;
    let rest: Buffer = Buffer.from(lines);
    try {
      rest = await this.#file.append(rest);
      if (rest.length === 0) {
        this.#recovered();
        return 0;
      }
      problem = new Error("no space left on the device");
    } catch (error) {
      problem = error;
    }
    this.#failed(problem);
    return rest.reduce((total, byte) => total + Number(byte === 0x0a), 0);
  }

  /** How many lines of the queue make a batch; at least one. */
  #batchSize(): number {
    let count = 0;
    let characters = 0;
    for (const line of this.#lines) {
      characters += line.length;
      if (count > 0 && characters > MAX_BATCH_CHARACTERS) break;
      count++;
    }
    return count;
  }

  /** Logs once per outage, not once per batch. */
  #failed(error: unknown): void {
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#log.error({ err: error, path: this.#path }, "request log file not writable; retrying");
  }

  #recovered(): void {
    if (!this.#isFailing) return;
    this.#isFailing = false;
    this.#log.info({ path: this.#path }, "request log file writable again");
  }
}
