// The sliding window of one limit in memory: settled amounts in sub-buckets, and the sum of open reservations.
import { MAX_AMOUNT } from "./ledger.ts";

/** A window of tokens has at most this many sub-buckets, so that an amount leaves at most 1/60 of the window late. */
const SUB_BUCKETS = 60;
/** Beyond this, the two oldest buckets are merged. Only windows that were shortened by an operator have as many. */
const MAX_BUCKETS = 2 * SUB_BUCKETS;
/** Up to this limit, every request is counted at its own time. Above, requests share sub-buckets as tokens do. */
export const MAX_EXACT_REQUESTS = 10_000;
/** Dropped buckets at the start of the arrays before these are compacted. */
const MAX_DROPPED = 64;

/**
 * A bucket starts with an amount and takes the amounts of the following 1/60 of the window. All of them leave when the newest one
 * does: late, never early. Amounts that are further apart have buckets of their own and leave exactly in time.
 */
export class Window {
  /** The sum of open reservations. */
  reserved = 0;
  /** It was idle or evicted: the next amount of its key is that of another window. */
  isDropped = false;
  /** The longest window used while there were amounts: an operator may shorten a window and extend it again. */
  #keepMs = 0;
  /** The sum of all buckets. */
  #total = 0;
  /** Buckets before this index are dropped. */
  #head = 0;
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  readonly #amounts: number[] = [];

  /** Whether the window has no settled and no reserved amounts. */
  isIdle(now: number): boolean {
    this.#expire(now);
    return this.reserved === 0 && this.#head === this.#ends.length;
  }

  /** When the newest settled amount was settled; -Infinity if there is none. */
  get newest(): number {
    return this.#ends.at(-1) ?? -Infinity;
  }

  /** Returns the settled amounts of the last `windowMs`. */
  settled(windowMs: number, now: number): number {
    this.#expire(now);
    if (windowMs >= this.#keepMs) return this.#total;
    return this.#sumFrom(this.#firstIn(windowMs, now));
  }

  /** Returns when the oldest settled amount was settled; `now` if there is none. */
  oldest(windowMs: number, now: number): number {
    return this.#ends[this.#firstIn(windowMs, now)] ?? now;
  }

  /** Returns the time until enough settled amounts have left for `amount` to fit, without regard to open reservations. */
  waitMs(amount: number, limit: number, windowMs: number, now: number): number {
    if (amount > limit) return Infinity;
    let excess = this.settled(windowMs, now) - (limit - amount);
    let at = this.#firstIn(windowMs, now);
    let leavesAt = now;
    for (; excess > 0 && at < this.#ends.length; at++) {
      excess -= this.#amounts[at] ?? 0;
      leavesAt = (this.#ends[at] ?? 0) + windowMs;
    }
    return Math.max(1, Math.ceil(leavesAt - now));
  }

  /** Adds a settled amount. If it is `exact`, it shares a bucket only with amounts of the same time. */
  charge(amount: number, windowMs: number, isExact: boolean, now: number): void {
    this.#expire(now);
    if (amount === 0) return;
    if (this.#head === this.#ends.length) this.#keepMs = 0;
    this.#keepMs = Math.max(this.#keepMs, windowMs);
    this.#total = add(this.#total, amount);
    const newest = this.#ends.length - 1;
    const widthMs = isExact ? 0 : windowMs / SUB_BUCKETS;
    const isShared =
      newest >= this.#head && (now < (this.#starts[newest] ?? 0) + widthMs || now === this.#ends[newest]);
    if (isShared) {
      this.#ends[newest] = now;
      this.#amounts[newest] = add(this.#amounts[newest] ?? 0, amount);
      return;
    }
    this.#starts.push(now);
    this.#ends.push(now);
    this.#amounts.push(amount);
    const maxBuckets = isExact ? MAX_EXACT_REQUESTS : MAX_BUCKETS;
    if (this.#ends.length - this.#head > maxBuckets) this.#mergeOldest();
  }

  /** Removes 1 from the bucket of a time, if it is still there. */
  uncharge(time: number): void {
    for (let at = this.#ends.length - 1; at >= this.#head && (this.#ends[at] ?? 0) >= time; at--) {
      if ((this.#starts[at] ?? 0) > time) continue;
      this.#total--;
      this.#amounts[at] = (this.#amounts[at] ?? 0) - 1;
      if (this.#amounts[at] === 0) this.#remove(at);
      return;
    }
  }

  /** Drops the settled amounts. */
  clear(): void {
    this.#starts.length = this.#ends.length = this.#amounts.length = this.#head = this.#total = 0;
  }

  #firstIn(windowMs: number, now: number): number {
    let at = this.#head;
    if (windowMs < this.#keepMs) while ((this.#ends[at] ?? Infinity) <= now - windowMs) at++;
    return at;
  }

  #expire(now: number): void {
    const ends = this.#ends;
    const until = now - this.#keepMs;
    if ((ends[this.#head] ?? Infinity) > until) return;
    const isCapped = this.#total === MAX_AMOUNT;
    while ((ends[this.#head] ?? Infinity) <= until) this.#total -= this.#amounts[this.#head++] ?? 0;
    if (this.#head === ends.length) {
      this.clear();
      return;
    }
    this.#compact();
    // Subtracting from a sum that had stopped at MAX_AMOUNT would make it too small.
    if (isCapped) this.#total = this.#sumFrom(this.#head);
  }

  #sumFrom(first: number): number {
    let sum = 0;
    for (let at = first; at < this.#ends.length; at++) sum = add(sum, this.#amounts[at] ?? 0);
    return sum;
  }

  #mergeOldest(): void {
    const next = this.#head + 1;
    this.#amounts[next] = add(this.#amounts[this.#head] ?? 0, this.#amounts[next] ?? 0);
    this.#starts[next] = this.#starts[this.#head] ?? 0;
    this.#head = next;
    this.#compact();
  }

  /** Removes dropped buckets from the arrays. */
  #compact(): void {
    if (this.#head <= MAX_DROPPED || this.#head * 2 <= this.#ends.length) return;
    this.#starts.splice(0, this.#head);
    this.#ends.splice(0, this.#head);
    this.#amounts.splice(0, this.#head);
    this.#head = 0;
  }

  #remove(at: number): void {
    this.#starts.splice(at, 1);
    this.#ends.splice(at, 1);
    this.#amounts.splice(at, 1);
  }
}

/** Returns the sum of two amounts, at most MAX_AMOUNT. */
export function add(left: number, right: number): number {
  return Math.min(left + right, MAX_AMOUNT);
}
