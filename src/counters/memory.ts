// Owns the counters of one process: an exact sliding-window log in memory, decided synchronously.
import { systemClock, type Clock } from "../base/clock.ts";
import type { Counters, CountersState, Decision, Limit, LimitState } from "./counters.ts";
import { KeyDigests } from "./key-digest.ts";
import { WindowLogs } from "./window-logs.ts";

/** Windows are measured with `now`. `unixNow` is only for the time at which a client may retry. */
type CountersClock = Pick<Clock, "now" | "unixNow">;

export interface MemoryOptions {
  readonly clock?: CountersClock;
  /** Bound on the keys kept; see WindowLogs for what happens there. */
  readonly maxKeys?: number;
}

const MAX_KEYS = 1_000_000;
const SWEEP_EVERY = 64;
/** The wall clock tells whole milliseconds, so the two clocks seem apart by a little more or less each time they are read. */
const CLOCKS_APART_MS = 2;

export class MemoryCounters implements Counters {
  readonly state: CountersState = { state: "none", detail: "in memory" };
  readonly #clock: CountersClock;
  readonly #logs: WindowLogs;
  readonly #digests = new KeyDigests();
  /** Of each limit of the call at hand: its log's slot or -1, counted in its window, the oldest of those, milliseconds until there is room. */
  #slots: number[] = [];
  #counted: number[] = [];
  #oldest: number[] = [];
  #waits: number[] = [];
  #calls = 0;
  /** Wall time less monotonic time; kept while it is true, so that one moment is always told as the same second. */
  #wallOffset = NaN;

  constructor(options: MemoryOptions = {}) {
    this.#clock = options.clock ?? systemClock;
    this.#logs = new WindowLogs(options.maxKeys ?? MAX_KEYS);
  }

  /** Keys that are kept now. */
  get size(): number {
    return this.#logs.size;
  }

  admit(limits: readonly Limit[]): Decision {
    return this.#decide(limits, true, true);
  }

  peek(limits: readonly Limit[]): Decision {
    return this.#decide(limits, false, true);
  }

  /** Where the limits stand without this request. */
  look(limits: readonly Limit[]): Decision {
    return this.#decide(limits, false, false);
  }

  /** Counts a request that somebody else has admitted. */
  record(limits: readonly Limit[]): void {
    const now = this.#clock.now();
    for (let at = 0; at < limits.length; at++)
      this.#slots[at] = this.#logs.find(this.#digests.put(at, (limits[at] as Limit).key));
    this.#append(limits, now);
    this.#sweepNowAndThen(now);
  }

  clear(key: string): void {
    const slot = this.#logs.find(this.#digests.put(0, key));
    if (slot !== -1) this.#logs.remove(slot);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** `counts`: an admitted request is written down; `tells`: it is taken off what is left. */
  #decide(limits: readonly Limit[], counts: boolean, tells: boolean): Decision {
    const now = this.#clock.now();
    let refusedBy = -1;
    for (let at = 0; at < limits.length; at++) {
      const hasRoom = this.#measure(at, limits[at] as Limit, now);
      if (!hasRoom && refusedBy === -1) refusedBy = at;
    }
    const admitted = refusedBy === -1;
    // Only now is anything written, keys included: refused requests leave no trace.
    if (admitted && counts) this.#append(limits, now);
    this.#sweepNowAndThen(now);
    const states = this.#states(limits, now, admitted && tells);
    return { admitted, refusedBy, states, source: "memory" };
  }

  /** Notes where limit `at` stands and tells whether it has room. */
  #measure(at: number, { key, limit, windowMs }: Limit, now: number): boolean {
    const logs = this.#logs;
    const slot = logs.find(this.#digests.put(at, key));
    this.#slots[at] = slot;
    const total = slot === -1 ? 0 : logs.count(slot);
    const past = total === 0 ? 0 : logs.countUntil(slot, now - Math.min(windowMs, logs.keptMs(slot)));
    const counted = total - past;
    this.#counted[at] = counted;
    this.#oldest[at] = counted === 0 ? now : logs.entry(slot, past);
    if (counted < limit) {
      this.#waits[at] = 0;
      return true;
    }
    // A lowered limit can be exceeded by several: room comes when all but `limit` - 1 of them have left.
    const leaving = limit > 0 ? logs.entry(slot, total - limit) : now;
    this.#waits[at] = Math.max(1, Math.ceil(leaving + windowMs - now));
    return false;
  }

  #append(limits: readonly Limit[], now: number): void {
    let isMoved = false;
    for (let at = 0; at < limits.length; at++) {
      const { limit, windowMs } = limits[at] as Limit;
      let slot = this.#slots[at] as number;
      if (slot === -1) isMoved = true;
      // A new key may move the slots of all others.
      if (isMoved) slot = this.#logs.open(this.#digests.get(at));
      this.#logs.append(slot, now, limit, windowMs);
    }
  }

  #states(limits: readonly Limit[], now: number, takesOff: boolean): LimitState[] {
    const offset = this.#clock.unixNow() - now;
    if (!(Math.abs(offset - this.#wallOffset) <= CLOCKS_APART_MS)) this.#wallOffset = offset;
    const states: LimitState[] = [];
    for (let at = 0; at < limits.length; at++) {
      const { limit, windowMs } = limits[at] as Limit;
      const counted = (this.#counted[at] as number) + (takesOff ? 1 : 0);
      states.push({
        remaining: Math.max(0, limit - counted),
        resetAt: Math.ceil((this.#wallOffset + (this.#oldest[at] as number) + windowMs) / 1000),
        waitMs: this.#waits[at] as number,
      });
    }
    return states;
  }

  #sweepNowAndThen(now: number): void {
    if (++this.#calls % SWEEP_EVERY === 0) this.#logs.sweep(now);
  }
}
