// Deadlines of requests and connections, checked together every 50 ms. A timer per deadline would cost more than the
// rest of the wait. The set is module state because it does not outlive the waits in it: two gateways in one process
// only share the tick.

const TICK_MS = 50;

export interface Deadline {
  /** A `performance.now()` time. May change at any time; Infinity disables the deadline. */
  dueAt: number;
  expire(): void;
}

const watched = new Set<Deadline>();
let timer: Timer | null = null;

/** Calls `expire` when `dueAt` has passed, at most one tick late, and again every tick until the deadline is unwatched. */
export function watchDeadline(deadline: Deadline): void {
  watched.add(deadline);
  timer ??= setInterval(checkAll, TICK_MS);
}

export function unwatchDeadline(deadline: Deadline): void {
  watched.delete(deadline);
}

function checkAll(): void {
  // Stop after a tick without deadlines, so that the timer does not keep the process alive.
  if (watched.size === 0 && timer !== null) {
    clearInterval(timer);
    timer = null;
    return;
  }
  const now = performance.now();
  for (const deadline of watched) if (deadline.dueAt <= now) deadline.expire();
}
