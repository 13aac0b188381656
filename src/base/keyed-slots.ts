// Limits how many tasks with the same key run at the same time. Those beyond the limit wait in order, and the wait is bounded.

interface Lane {
  taken: number;
  readonly waiting: Set<() => void>;
}

export class KeyedSlots {
  readonly #limit: number;
  readonly #maxWaiting: number;
  readonly #lanes = new Map<string, Lane>();

  constructor(limit: number, maxWaiting: number) {
    this.#limit = limit;
    this.#maxWaiting = maxWaiting;
  }

  /** Whether a further task could not even wait. */
  isFull(key: string): boolean {
    const lane = this.#lanes.get(key);
    return lane !== undefined && lane.taken >= this.#limit && lane.waiting.size >= this.#maxWaiting;
  }

  /** Runs `task` when there is a place; at once if the key is null. Rejects with the signal's reason if it is aborted before. */
  async use<T>(key: string | null, signal: AbortSignal, task: () => Promise<T>): Promise<T> {
    if (key === null) return task();
    await this.#take(key, signal);
    try {
      return await task();
    } finally {
      this.#release(key);
    }
  }

  async #take(key: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const lane = this.#lanes.get(key) ?? { taken: 0, waiting: new Set() };
    this.#lanes.set(key, lane);
    if (lane.taken < this.#limit) {
      lane.taken++;
      return;
    }
    if (lane.waiting.size >= this.#maxWaiting)
      throw new Error(`more than ${this.#maxWaiting} tasks wait for a place`);
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const proceed = () => resolve(undefined);
    const leave = () => {
      // A task that has got its place keeps it.
      if (lane.waiting.delete(proceed)) reject(signal.reason);
    };
    lane.waiting.add(proceed);
    signal.addEventListener("abort", leave, { once: true });
    try {
      await promise;
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  /** Passes the place on to the first task that waits. */
  #release(key: string): void {
    const lane = this.#lanes.get(key);
    if (lane === undefined) return;
    const [next] = lane.waiting;
    if (next !== undefined) {
      lane.waiting.delete(next);
      next();
    } else if (--lane.taken === 0) this.#lanes.delete(key);
  }
}
