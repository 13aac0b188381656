// Counters of one process: a sliding-window log in memory, exact up to EXACT_LIMIT, decided synchronously.
import { systemClock, type Clock } from "../base/clock.ts";
import type { BucketLog } from "./bucket-log.ts";
import type { Counters, CountersByGateway, CountersState, Decision, Limit, LimitState } from "./counters.ts";
import { KeyDigest } from "./key-digest.ts";
import { WindowLogs } from "./window-logs.ts";

/** Windows are measured with `now`. `unixNow` is only for the reset time that clients see. */
type CountersClock = Pick<Clock, "now" | "unixNow">;

interface MemoryCountersOptions {
  readonly clock?: CountersClock;
  /** Maximum number of keys; see WindowLogs for what happens then. */
  readonly maxKeys?: number;
  /** Instead of EXACT_LIMIT, for tests. */
  readonly exactLimit?: number;
}

const MAX_KEYS = 1_000_000;
const CALLS_PER_SWEEP = 64;
/** The wall clock has whole milliseconds, so that the measured difference between the clocks varies by up to this much. */
const CLOCK_JITTER_MS = 2;

/** What one call finds out about one of its limits. Reused by the next call. */
class LimitCheck {
  readonly digest = new KeyDigest();
  /** The slot of the key in the logs, or -1. */
  slot = -1;
  /** Requests in the window, and the time of the oldest one. */
  counted = 0;
  oldest = 0;
  waitMs = 0;
}

export class MemoryCounters implements Counters, CountersByGateway {
  readonly state: CountersState = { state: "none", detail: "in memory" };
  readonly #clock: CountersClock;
  readonly #logs: WindowLogs;
  /** By position of the limit in the call. */
  readonly #checks: LimitCheck[] = [];
  #calls = 0;
  /** Wall time minus monotonic time. Updated only when it is wrong, so that one moment is always the same second. */
  #wallOffset = NaN;

  constructor(options: MemoryCountersOptions = {}) {
    this.#clock = options.clock ?? systemClock;
    this.#logs = new WindowLogs(options.maxKeys ?? MAX_KEYS, options.exactLimit);
  }

  /** The number of keys. */
  get size(): number {
    return this.#logs.size;
  }

  /** The keys of plugins contain the gateway. */
  forGateway(): Counters {
    return this;
  }

  admit(limits: readonly Limit[]): Decision {
    return this.#decide(limits, true, true);
  }

  peek(limits: readonly Limit[]): Decision {
    return this.#decide(limits, false, true);
  }

  knownRejection(limits: readonly Limit[]): Decision | null {
    const decision = this.inspect(limits);
    return decision.admitted ? null : decision;
  }

  /** Returns the state of the limits without this request. */
  inspect(limits: readonly Limit[]): Decision {
    return this.#decide(limits, false, false);
  }

  /** Counts a request that was admitted elsewhere. */
  record(limits: readonly Limit[]): void {
    const now = this.#clock.now();
    let position = 0;
    for (const { key } of limits) {
      const check = this.#checkAt(position++);
      check.slot = this.#logs.find(check.digest.update(key));
    }
    this.#append(limits, now);
    this.#sweepSometimes(now);
  }

  clear(key: string): void {
    const slot = this.#logs.find(this.#checkAt(0).digest.update(key));
    if (slot !== -1) this.#logs.remove(slot);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** `counts`: count an admitted request. `subtracts`: subtract an admitted request from the remaining ones. */
  #decide(limits: readonly Limit[], counts: boolean, subtracts: boolean): Decision {
    const now = this.#clock.now();
    let refusedBy = -1;
    let position = 0;
    for (const limit of limits) {
      const isAllowed = this.#measure(this.#checkAt(position), limit, now);
      if (!isAllowed && refusedBy === -1) refusedBy = position;
      position++;
    }
    const admitted = refusedBy === -1;
    // Nothing is written before this line, not even keys: a rejected request has no effect.
    if (admitted && counts) this.#append(limits, now);
    this.#sweepSometimes(now);
    const states = this.#states(limits, now, admitted && subtracts);
    return { admitted, refusedBy, states, source: "memory" };
  }

  #checkAt(position: number): LimitCheck {
    return (this.#checks[position] ??= new LimitCheck());
  }

  /** Fills the check of a limit. Returns whether the limit allows one more request. */
  #measure(check: LimitCheck, { key, limit, windowMs }: Limit, now: number): boolean {
    const logs = this.#logs;
    const slot = logs.find(check.digest.update(key));
    check.slot = slot;
    const buckets = slot === -1 ? undefined : logs.bucketLog(slot);
    if (buckets !== undefined) return this.#measureBuckets(check, buckets, { key, limit, windowMs }, now);
    const total = slot === -1 ? 0 : logs.count(slot);
    const expired = total === 0 ? 0 : logs.countUntil(slot, now - Math.min(windowMs, logs.retentionMs(slot)));
    const counted = total - expired;
    check.counted = counted;
    check.oldest = counted === 0 ? now : logs.entry(slot, expired);
    check.waitMs = 0;
    if (counted < limit) return true;
    // After a limit was lowered, more requests than `limit` may be counted: wait until all but `limit` - 1 have expired.
    const lastToExpire = limit > 0 ? logs.entry(slot, total - limit) : now;
    check.waitMs = Math.max(1, Math.ceil(lastToExpire + windowMs - now));
    return false;
  }

  /** Does what #measure does for a log that a large limit was used with. */
  #measureBuckets(check: LimitCheck, log: BucketLog, { limit, windowMs }: Limit, now: number): boolean {
    const expired = log.countUntil(now - Math.min(windowMs, this.#logs.retentionMs(check.slot)));
    const counted = log.requestsFrom(expired);
    check.counted = counted;
    check.oldest = counted === 0 ? now : log.time(expired);
    check.waitMs = 0;
    if (counted < limit) return true;
    const lastToExpire = limit > 0 ? log.time(log.surplusOf(limit)) : now;
    check.waitMs = Math.max(1, Math.ceil(lastToExpire + windowMs - now));
    return false;
  }

  #append(limits: readonly Limit[], now: number): void {
    let mayHaveMoved = false;
    let position = 0;
    for (const { limit, windowMs } of limits) {
      const { slot: found, digest } = this.#checkAt(position++);
      // A new key may move the slots of all other keys.
      if (found === -1) mayHaveMoved = true;
      const slot = mayHaveMoved ? this.#logs.findOrCreate(digest.words) : found;
      this.#logs.append(slot, now, limit, windowMs);
    }
  }

  #states(limits: readonly Limit[], now: number, subtracts: boolean): LimitState[] {
    const offset = this.#clock.unixNow() - now;
    if (!(Math.abs(offset - this.#wallOffset) <= CLOCK_JITTER_MS)) this.#wallOffset = offset;
    const states: LimitState[] = [];
    for (const { limit, windowMs } of limits) {
      const { counted, oldest, waitMs } = this.#checkAt(states.length);
      states.push({
        remaining: Math.max(0, limit - counted - (subtracts ? 1 : 0)),
        resetAt: Math.ceil((this.#wallOffset + oldest + windowMs) / 1000),
        waitMs,
      });
    }
    return states;
  }

  #sweepSometimes(now: number): void {
    if (++this.#calls % CALLS_PER_SWEEP === 0) this.#logs.sweep(now);
  }
}
