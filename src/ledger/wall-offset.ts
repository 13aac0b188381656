// The difference between wall time and monotonic time. It changes only when it is wrong, so that one moment is always the same second.
import type { Clock } from "../base/clock.ts";

/** The wall clock has whole milliseconds, so that the measured difference between the clocks varies by up to this much. */
const JITTER_MS = 2;
/** How long the difference is not measured again. A corrected clock shows as late. */
const KNOWN_MS = 10;

export class WallOffset {
  readonly #clock: Clock;
  #offset = NaN;
  #knownUntil = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the wall time minus the monotonic time, which is `now`. */
  at(now: number): number {
    if (now >= this.#knownUntil) {
      const offset = this.#clock.unixNow() - now;
      if (!(Math.abs(offset - this.#offset) <= JITTER_MS)) this.#offset = offset;
      this.#knownUntil = now + KNOWN_MS;
    }
    return this.#offset;
  }
}
