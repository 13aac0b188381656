// Owns one target's moving average of the time to first byte, decayed by time rather than by count so that it
// forgets at the same pace under any load.

const DECAY_MS = 10_000;

// Bounds the doubling below; no first-byte deadline in use is longer.
const WORST_MS = 600_000;

export class LatencyAverage {
  #averageMs = Infinity;
  #measuredAt = 0;
  #lastStartAt = -Infinity;

  /** Infinity while nothing was measured, so that any measured target is preferred. */
  get averageMs(): number {
    return this.#averageMs;
  }

  /** -Infinity when the target was not asked yet. */
  get lastStartAt(): number {
    return this.#lastStartAt;
  }

  started(now: number): void {
    this.#lastStartAt = now;
  }

  measured(firstByteMs: number, now: number): void {
    if (this.#averageMs === Infinity) {
      this.#averageMs = firstByteMs;
    } else {
      const keep = Math.exp(-(now - this.#measuredAt) / DECAY_MS);
      this.#averageMs = this.#averageMs * keep + firstByteMs * (1 - keep);
    }
    this.#measuredAt = now;
  }

  /** A failure has no time to first byte, yet a target that fails must not keep the lead it earned while it worked. */
  failed(): void {
    if (this.#averageMs === Infinity) return;
    this.#averageMs = Math.min(WORST_MS, Math.max(1, this.#averageMs) * 2);
  }

  copy(): LatencyAverage {
    const copy = new LatencyAverage();
    copy.#averageMs = this.#averageMs;
    copy.#measuredAt = this.#measuredAt;
    copy.#lastStartAt = this.#lastStartAt;
    return copy;
  }

  /** What was measured before an ejection says nothing about the target that returns. */
  forget(): void {
    this.#averageMs = Infinity;
    this.#lastStartAt = -Infinity;
  }
}
