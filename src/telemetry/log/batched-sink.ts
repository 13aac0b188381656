// Collects log lines for a few milliseconds and writes them together: one system call per line would be a third of the CPU
// cost of a request.
import { systemClock, type Clock, type ClockTimer } from "../../base/clock.ts";
import type { LineWriter } from "../../http/line-writer.ts";
import type { LogSink } from "./log.ts";

const WAIT_MS = 20;
const MAX_HELD_BYTES = 64 * 1024;

/** What takes the collected lines: a stream. */
interface ByteSink {
  write(bytes: Uint8Array): unknown;
}

/** Lines are held as bytes: strings would survive a garbage collection, and have to be encoded anyway. */
export class BatchedSink implements LogSink {
  readonly #sink: ByteSink;
  readonly #clock: Clock;
  readonly #held = Buffer.allocUnsafeSlow(2 * MAX_HELD_BYTES);
  #length = 0;
  #timer: ClockTimer | null = null;

  constructor(sink: ByteSink, clock: Clock = systemClock) {
    this.#sink = sink;
    this.#clock = clock;
  }

  write(line: string): void {
    if (!this.#hasRoom(Buffer.byteLength(line))) this.#sink.write(Buffer.from(line));
    else this.#added(this.#held.write(line, this.#length, "utf8"));
  }

  writeBytes(line: LineWriter): void {
    const { length } = line;
    if (!this.#hasRoom(length)) this.#sink.write(Buffer.from(line.finish("utf8")));
    else {
      line.finishIn(this.#held, this.#length);
      this.#added(length);
    }
  }

  flush(): void {
    this.#timer?.close();
    this.#timer = null;
    if (this.#length === 0) return;
    // Copied: a stream may keep what it has not written yet.
    const lines = new Uint8Array(this.#held.subarray(0, this.#length));
    this.#length = 0;
    this.#sink.write(lines);
  }

  /** Writes the held lines if a line of this size does not fit. Returns false if it is too long to be held at all. */
  #hasRoom(bytes: number): boolean {
    if (this.#length + bytes > this.#held.length) this.flush();
    return bytes <= this.#held.length;
  }

  #added(bytes: number): void {
    this.#length += bytes;
    if (this.#length >= MAX_HELD_BYTES) this.flush();
    else if (this.#timer === null) this.#startTimer();
  }

  /** Apart, because the closure would allocate its scope for every line. */
  #startTimer(): void {
    this.#timer = this.#clock.setTimeout(() => this.flush(), WAIT_MS);
  }
}
