// The log of a large limit: requests that are close in time share one entry, so that memory per key is bounded.

/** Limits up to this one are exact per request. A log of a larger one would take more than 80 kB per key. */
export const EXACT_LIMIT = 10_000;
/** The window of a larger limit is divided into this many cells. */
const CELLS = 60;
/** Twice the cells: the current window, and older entries within the longest window that was used with the log. */
export const MAX_ENTRIES = 128;
const MIN_ENTRIES = 4;

/**
 * Returns the width of the cells of a limit, 0 if it is exact. Requests within a cell leave the window together with the newest
 * of them: never early, and late by less than the width.
 */
export function cellWidth(limit: number, window: number, exactLimit: number): number {
  return limit > exactLimit ? window / CELLS : 0;
}

/**
 * Entries are pairs of a time and a number: how many requests were counted up to and including that time since the log
 * was created. So the requests between two entries are a subtraction.
 */
export class BucketLog {
  #times = new Float64Array(MIN_ENTRIES);
  #totals = new Float64Array(MIN_ENTRIES);
  #start = 0;
  #end = 0;
  /** The total of the last dropped entry. */
  #dropped = 0;

  /** The number of entries. */
  get count(): number {
    return this.#end - this.#start;
  }

  get newest(): number {
    return this.#times[this.#end - 1] ?? -Infinity;
  }

  time(position: number): number {
    return this.#times[this.#start + position] ?? 0;
  }

  /** Returns the number of requests in the entries from `position` on. */
  requestsFrom(position: number): number {
    return this.#totalBefore(this.count) - this.#totalBefore(position);
  }

  /** Returns the number of entries up to and including `until`. */
  countUntil(until: number): number {
    return this.#search((position) => this.time(position) <= until);
  }

  /** Returns the number of entries without which `limit` requests or more remain. */
  surplusOf(limit: number): number {
    return this.#search((position) => this.requestsFrom(position + 1) >= limit);
  }

  /** Counts a request, in the last entry if it is in the same cell. */
  append(now: number, width: number): void {
    const total = this.#totalBefore(this.count) + 1;
    if (this.count > 0 && isSameCell(this.newest, now, width)) {
      this.#times[this.#end - 1] = now;
      this.#totals[this.#end - 1] = total;
      return;
    }
    if (this.#end === this.#times.length) this.#makeSpace();
    this.#times[this.#end] = now;
    this.#totals[this.#end++] = total;
  }

  dropOldest(number: number): void {
    if (number <= 0) return;
    this.#dropped = this.#totalBefore(number);
    this.#start += number;
  }

  /**
   * If there are many entries, merges those up to `since` (the start of the current window) in wide cells and the others in
   * narrow ones. With a width of 0, entries stay as they are.
   */
  compact(since: number, narrow: number, wide: number): void {
    if (narrow === 0 || this.count < MAX_ENTRIES) return;
    let kept = this.#start;
    for (let place = this.#start + 1; place < this.#end; place++) {
      const time = this.#times[place] ?? 0;
      if (!isSameCell(this.#times[kept] ?? 0, time, time <= since ? wide : narrow)) kept++;
      this.#times[kept] = time;
      this.#totals[kept] = this.#totals[place] ?? 0;
    }
    this.#end = kept + 1;
  }

  #totalBefore(position: number): number {
    return position === 0 ? this.#dropped : (this.#totals[this.#start + position - 1] ?? 0);
  }

  /** Returns the number of entries for which the condition holds. It holds for none after one for which it does not. */
  #search(holds: (position: number) => boolean): number {
    // Mostly it holds for none.
    if (this.count === 0 || !holds(0)) return 0;
    let [low, high] = [1, this.count];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (holds(middle)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Moves the entries to the start of the arrays, which grow if more than half is used. */
  #makeSpace(): void {
    const size = this.count * 2 > this.#times.length ? this.#times.length * 2 : this.#times.length;
    const [times, totals] = [new Float64Array(size), new Float64Array(size)];
    times.set(this.#times.subarray(this.#start, this.#end));
    totals.set(this.#totals.subarray(this.#start, this.#end));
    [this.#end, this.#start] = [this.count, 0];
    [this.#times, this.#totals] = [times, totals];
  }
}

function isSameCell(earlier: number, later: number, width: number): boolean {
  return earlier === later || (width > 0 && Math.floor(earlier / width) === Math.floor(later / width));
}
