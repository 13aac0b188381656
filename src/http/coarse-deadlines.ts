// Deadlines of everything that waits for a provider or a client, looked at together a few times a second: a timer each
// would cost more than the waiting.

const TICK_MS = 50;

/** Something that waits. `dueAt` may be moved at any time; Infinity means that nothing is due. */
export interface Deadline {
  dueAt: number;
  expire(): void;
}

const watched = new Set<Deadline>();
let timer: Timer | null = null;

/** Calls `expire` once `dueAt` (as `performance.now()` counts) is past, at most a tick late, until it is unwatched. */
export function watchDeadline(deadline: Deadline): void {
  watched.add(deadline);
  timer ??= setInterval(lookAtAll, TICK_MS);
}

export function unwatchDeadline(deadline: Deadline): void {
  watched.delete(deadline);
}

function lookAtAll(): void {
  // One idle tick ends the watch; the next deadline starts it again.
  if (watched.size === 0 && timer !== null) {
    clearInterval(timer);
    timer = null;
    return;
  }
  const now = performance.now();
  for (const deadline of watched) if (deadline.dueAt <= now) deadline.expire();
}
