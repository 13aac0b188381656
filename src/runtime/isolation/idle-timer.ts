// Ends an isolate that no entry uses, or that was started beside others, when it has had no call for a while.
import type { Clock, ClockTimer } from "../../base/clock.ts";

const IDLE_MS = 60_000;
const MIN_WAIT_MS = 1000;

export class IdleTimer {
  readonly #clock: Clock;
  readonly #onIdle: () => void;
  #timer: ClockTimer | null = null;
  #usedAt = 0;

  constructor(clock: Clock, onIdle: () => void) {
    this.#clock = clock;
    this.#onIdle = onIdle;
  }

  /** There was a call. */
  used(): void {
    this.#usedAt = this.#clock.now();
  }

  start(): void {
    if (this.#timer === null) this.#wait(IDLE_MS);
  }

  close(): void {
    this.#timer?.close();
    this.#timer = null;
  }

  #wait(ms: number): void {
    this.#timer = this.#clock.setTimeout(() => {
      this.#timer = null;
      const left = this.#usedAt + IDLE_MS - this.#clock.now();
      if (left > 0) this.#wait(Math.max(left, MIN_WAIT_MS));
      else this.#onIdle();
    }, ms);
    this.#timer.unref();
  }
}
