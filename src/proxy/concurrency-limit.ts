// Limits the requests that this process handles at the same time.
import type { Clock } from "../base/clock.ts";
import type { Log } from "../telemetry/log/log.ts";

/** Rejections may occur by the thousand, so the log reports them together. */
const REPORT_INTERVAL_MS = 1000;

export class ConcurrencyLimit {
  readonly limit: number;
  readonly #log: Log;
  readonly #clock: Clock;
  #count = 0;
  #unreportedCount = 0;

  constructor(limit: number, log: Log, clock: Clock) {
    this.limit = limit;
    this.#log = log;
    this.#clock = clock;
  }

  /** Returns false if the request must be rejected. Otherwise it is in flight until `leave`. */
  enter(): boolean {
    if (this.#count < this.limit) {
      this.#count++;
      return true;
    }
    if (this.#unreportedCount++ === 0)
      this.#clock.setTimeout(() => this.#report(), REPORT_INTERVAL_MS).unref();
    return false;
  }

  leave(): void {
    this.#count--;
  }

  #report(): void {
    const fields = { refused: this.#unreportedCount, max_in_flight: this.limit };
    this.#log.warn(fields, "requests rejected: MAX_IN_FLIGHT reached");
    this.#unreportedCount = 0;
  }
}
