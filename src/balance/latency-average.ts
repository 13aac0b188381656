// The moving average of one target's time to first byte. It decays by time instead of by the number of measurements, so
// that old measurements lose weight at the same rate under any load.

const DECAY_MS = 10_000;

/** Limit for the doubling on failure; longer than any first-byte timeout in use. */
const MAX_AVERAGE_MS = 600_000;

export class LatencyAverage {
  #averageMs = Infinity;
  #measuredAt = 0;
  #lastStartAt = -Infinity;

  /** Infinity before the first measurement, so that any measured target is preferred. */
  get averageMs(): number {
    return this.#averageMs;
  }

  /** -Infinity before the first request. */
  get lastStartAt(): number {
    return this.#lastStartAt;
  }

  recordStart(now: number): void {
    this.#lastStartAt = now;
  }

  recordFirstByte(firstByteMs: number, now: number): void {
    if (this.#averageMs === Infinity) {
      this.#averageMs = firstByteMs;
    } else {
      const keep = Math.exp(-(now - this.#measuredAt) / DECAY_MS);
      this.#averageMs = this.#averageMs * keep + firstByteMs * (1 - keep);
    }
    this.#measuredAt = now;
  }

  /** Doubles the average: a failure has no time to first byte, but a failing target must not stay the fastest. */
  recordFailure(): void {
    if (this.#averageMs === Infinity) return;
    this.#averageMs = Math.min(MAX_AVERAGE_MS, Math.max(1, this.#averageMs) * 2);
  }

  copy(): LatencyAverage {
    const copy = new LatencyAverage();
    copy.#averageMs = this.#averageMs;
    copy.#measuredAt = this.#measuredAt;
    copy.#lastStartAt = this.#lastStartAt;
    return copy;
  }

  /** Discards all measurements. After an ejection, those made before it do not describe the target. */
  reset(): void {
    this.#averageMs = Infinity;
    this.#lastStartAt = -Infinity;
  }
}
