// A clock for tests: its time passes only when the test advances it.
import type { Clock, ClockTimer } from "./clock.ts";

interface PendingTimer {
  readonly callback: () => void;
  /** Null for a timeout. */
  readonly intervalMs: number | null;
  dueAt: number;
}

export class ManualClock implements Clock {
  /** Not 0, so that code that mistakes a time of 0 for "never" fails. */
  #now = 1_000_000;
  /** Starts at the real date, because some of what a test compares with is dated by the system. */
  #unixNow = Date.now();
  /** In order of creation. */
  readonly #timers = new Set<PendingTimer>();

  now(): number {
    return this.#now;
  }

  unixNow(): number {
    return Math.floor(this.#unixNow);
  }

  setTimeout(callback: () => void, milliseconds: number): ClockTimer {
    return this.#start({ callback, intervalMs: null, dueAt: this.#now + milliseconds });
  }

  setInterval(callback: () => void, milliseconds: number): ClockTimer {
    return this.#start({ callback, intervalMs: Math.max(1, milliseconds), dueAt: this.#now + milliseconds });
  }

  /** The number of active timers. */
  get timerCount(): number {
    return this.#timers.size;
  }

  /** Lets time pass and calls the timers that become due, each at its time and in order. */
  advance(milliseconds: number): void {
    const end = this.#now + milliseconds;
    for (let timer = this.#nextDue(end); timer !== null; timer = this.#nextDue(end)) {
      this.#passUntil(timer.dueAt);
      if (timer.intervalMs === null) this.#timers.delete(timer);
      else timer.dueAt += timer.intervalMs;
      timer.callback();
    }
    this.#passUntil(end);
  }

  /** Lets time pass in which the process does not run: timers are called late, and an interval only once. */
  block(milliseconds: number): void {
    this.#passUntil(this.#now + milliseconds);
    for (const timer of [...this.#timers].filter(({ dueAt }) => dueAt <= this.#now)) {
      if (timer.intervalMs === null) this.#timers.delete(timer);
      else timer.dueAt = this.#now + timer.intervalMs;
      timer.callback();
    }
  }

  /** Corrects the date without letting time pass. */
  shiftDate(milliseconds: number): void {
    this.#unixNow += milliseconds;
  }

  #start(timer: PendingTimer): ClockTimer {
    this.#timers.add(timer);
    return { close: () => this.#timers.delete(timer), unref: () => undefined };
  }

  #nextDue(end: number): PendingTimer | null {
    let next: PendingTimer | null = null;
    for (const timer of this.#timers) {
      if (timer.dueAt <= end && (next === null || timer.dueAt < next.dueAt)) next = timer;
    }
    return next;
  }

  #passUntil(now: number): void {
    this.#unixNow += now - this.#now;
    this.#now = now;
  }
}
