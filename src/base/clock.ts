// The time and the timers of a gateway. The composition root passes one clock to everything that waits or measures, so
// that tests can replace it with a clock that they advance themselves (manual-clock.fixture.ts).

export interface Clock {
  /** Returns milliseconds since an arbitrary moment. They never go backwards: use them for durations and deadlines. */
  now(): number;
  /** Returns Unix milliseconds. They jump when the system's clock is corrected: use them only for dates. */
  unixNow(): number;
  setTimeout(callback: () => void, milliseconds: number): ClockTimer;
  setInterval(callback: () => void, milliseconds: number): ClockTimer;
}

/** The part of Bun's Timer that the gateway uses; the system clock returns such timers without a wrapper. */
export interface ClockTimer {
  /** Cancels the timer. Does nothing if it has been canceled or has fired. */
  close(): unknown;
  /** Lets the process exit while the timer is active. */
  unref(): unknown;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  unixNow: () => Date.now(),
  setTimeout: (callback, milliseconds) => setTimeout(callback, milliseconds),
  setInterval: (callback, milliseconds) => setInterval(callback, milliseconds),
};
