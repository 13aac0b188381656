// Collects log lines for a few milliseconds and writes them together: one system call per line would be a third of the CPU
// cost of a request.
import type { LogSink } from "./log.ts";

const WAIT_MS = 20;
const MAX_HELD_CHARACTERS = 64 * 1024;

export class BatchedSink implements LogSink {
  readonly #sink: LogSink;
  #held = "";
  #timer: Timer | null = null;

  constructor(sink: LogSink) {
    this.#sink = sink;
  }

  write(line: string): void {
    this.#held += line;
    if (this.#held.length >= MAX_HELD_CHARACTERS) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), WAIT_MS);
  }

  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const lines = this.#held;
    this.#held = "";
    if (lines !== "") this.#sink.write(lines);
  }
}
