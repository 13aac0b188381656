// How many requests this process works on at once, and the bound above which it refuses further ones.
import type { Log } from "../telemetry/log/log.ts";

/** Refusals come by the thousand; they are told together. */
const TELL_EVERY_MS = 1000;

export class ConcurrencyLimit {
  readonly limit: number;
  readonly #log: Log;
  count = 0;
  rejectedCount = 0;
  #untold = 0;

  constructor(limit: number, log: Log) {
    this.limit = limit;
    this.#log = log;
  }

  /** Whether there is room for one more, which then is in flight until it leaves. */
  enter(): boolean {
    if (this.count < this.limit) {
      this.count++;
      return true;
    }
    this.rejectedCount++;
    if (this.#untold++ === 0) setTimeout(() => this.#tell(), TELL_EVERY_MS).unref();
    return false;
  }

  leave(): void {
    this.count--;
  }

  #tell(): void {
    const { limit } = this;
    this.#log.warn({ refused: this.#untold, max_in_flight: limit }, "overloaded: requests were refused");
    this.#untold = 0;
  }
}
