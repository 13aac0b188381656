// Deadlines of requests and connections, checked together every 50 ms. A timer per deadline would cost more than the
// rest of the wait.
import type { Clock, ClockTimer } from "../base/clock.ts";
import { DenseSet, type DenseSetMember } from "../base/dense-set.ts";
import { deliverReceived } from "./receive-queue.ts";

const TICK_MS = 50;

export interface Deadline extends DenseSetMember {
  /** A time of the clock. May change at any time; Infinity disables the deadline. */
  dueAt: number;
  expire(): void;
}

export class CoarseDeadlines {
  /** The clock that the deadlines are set by. */
  readonly clock: Clock;
  readonly #watched = new DenseSet<Deadline>();
  #timer: ClockTimer | null = null;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Calls `expire` when `dueAt` has passed, at most one tick late, and again every tick until the deadline is unwatched. */
  watch(deadline: Deadline): void {
    this.#watched.add(deadline);
    this.#timer ??= this.clock.setInterval(this.#checkAll, TICK_MS);
  }

  unwatch(deadline: Deadline): void {
    this.#watched.delete(deadline);
  }

  readonly #checkAll = (): void => {
    // Stop after a tick without deadlines, so that the timer does not keep the process alive.
    if (this.#watched.size === 0) {
      this.#timer?.close();
      this.#timer = null;
      return;
    }
    deliverReceived();
    const now = this.clock.now();
    this.#watched.forEach((deadline) => {
      if (deadline.dueAt <= now) deadline.expire();
    });
  };
}
