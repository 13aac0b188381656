// The moving 95th percentile of times: a histogram of the latest ones, with buckets that are 5 % wide.

const GROWTH = Math.log(1.05);
/** Up to one day. */
const BUCKETS = 376;
/** The two latest generations count, so between 256 and 512 times. */
const GENERATION = 256;
/** A percentile of fewer times would be one of the two largest of them. */
const MIN_TIMES = 20;
const SHARE = 0.95;

export class ContentTimes {
  #current = new Uint16Array(BUCKETS);
  #previous = new Uint16Array(BUCKETS);
  #currentCount = 0;
  #previousCount = 0;

  copy(): ContentTimes {
    const copy = new ContentTimes();
    copy.#current.set(this.#current);
    copy.#previous.set(this.#previous);
    copy.#currentCount = this.#currentCount;
    copy.#previousCount = this.#previousCount;
    return copy;
  }

  record(milliseconds: number): void {
    if (this.#currentCount >= GENERATION) {
      [this.#previous, this.#current] = [this.#current, this.#previous];
      this.#current.fill(0);
      this.#previousCount = this.#currentCount;
      this.#currentCount = 0;
    }
    const bucket = Math.min(BUCKETS - 1, Math.floor(Math.log(Math.max(1, milliseconds)) / GROWTH));
    this.#current[bucket] = (this.#current[bucket] ?? 0) + 1;
    this.#currentCount++;
  }

  /** Returns the upper bound of the bucket, at most 5 % too much; null if there are too few times. */
  p95(): number | null {
    const count = this.#currentCount + this.#previousCount;
    if (count < MIN_TIMES) return null;
    let seen = 0;
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      seen += (this.#current[bucket] ?? 0) + (this.#previous[bucket] ?? 0);
      if (seen >= count * SHARE) return Math.ceil(Math.exp((bucket + 1) * GROWTH));
    }
    return null;
  }
}
