// Collects log lines for a few milliseconds and writes them together: one system call per line would be a third of the CPU
// cost of a request.
import { systemClock, type Clock, type ClockTimer } from "../../base/clock.ts";
import type { LogSink } from "./log.ts";

const WAIT_MS = 20;
const MAX_HELD_CHARACTERS = 64 * 1024;

export class BatchedSink implements LogSink {
  readonly #sink: LogSink;
  readonly #clock: Clock;
  #held = "";
  #timer: ClockTimer | null = null;

  constructor(sink: LogSink, clock: Clock = systemClock) {
    this.#sink = sink;
    this.#clock = clock;
  }

  write(line: string): void {
    // A line is a tree of the strings that it was concatenated from. Reading a character makes it one string: about 30 strings per
    // line would otherwise survive a garbage collection.
    if (Number.isNaN(line.charCodeAt(0))) return;
    this.#held += line;
    if (this.#held.length >= MAX_HELD_CHARACTERS) this.flush();
    else if (this.#timer === null) this.#startTimer();
  }

  /** Apart, because the closure would allocate its scope for every line. */
  #startTimer(): void {
    this.#timer = this.#clock.setTimeout(() => this.flush(), WAIT_MS);
  }

  flush(): void {
    this.#timer?.close();
    this.#timer = null;
    const lines = this.#held;
    this.#held = "";
    if (lines !== "") this.#sink.write(lines);
  }
}
