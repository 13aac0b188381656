// When an isolate crashed: decides how long to wait before it is restarted, and whether the plugin is faulty.
import type { Clock } from "../../base/clock.ts";

const WINDOW_MS = 60_000;
const FAULTY_CRASHES = 5;
/** The first restart is immediate; from the second crash within the window on, each one doubles the delay. */
const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 10_000;

export class CrashTimes {
  readonly #clock: Clock;
  #times: readonly number[] = [];
  #lastReason = "";

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the delay of the restart in milliseconds. */
  add(reason: string): number {
    this.#times = [...this.#recent(), this.#clock.now()];
    this.#lastReason = reason;
    const count = this.#times.length;
    return count === 1 ? 0 : Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (count - 2));
  }

  /** Null if the plugin is not faulty. */
  get fault(): string | null {
    const count = this.#recent().length;
    return count < FAULTY_CRASHES
      ? null
      : `${count} crashes within a minute; the last one: ${this.#lastReason}`;
  }

  #recent(): readonly number[] {
    const oldest = this.#clock.now() - WINDOW_MS;
    return this.#times.filter((time) => time > oldest);
  }
}
