// Counts turns of the event loop: work that awaits only what is ready runs in a single one.

interface CountedTurns {
  /** The turns so far. */
  readonly count: number;
  stop(): void;
}

export function countTurns(): CountedTurns {
  let count = 0;
  let isRunning = true;
  const next = () => {
    count++;
    if (isRunning) setImmediate(next);
  };
  setImmediate(next);
  return {
    get count() {
      return count;
    },
    stop: () => {
      isRunning = false;
    },
  };
}
