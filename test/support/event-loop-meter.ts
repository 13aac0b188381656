// Measures how long one turn of the event loop of this thread takes, in CPU time: what other processes of the machine do does not count.

interface Measured<T> {
  readonly value: T;
  /** The longest turn, in milliseconds of CPU time of this thread. */
  readonly longestMs: number;
}

/**
 * Between two measurements of turns: a loop without pauses would take the processor from the peers. Turns that are shorter are measured
 * together, for about this time.
 */
const PAUSE_MS = 1;

/** Runs `work` and measures the turns of the event loop until its promise settles. */
export async function measureTurns<T>(work: () => Promise<T>): Promise<Measured<T>> {
  let longest = 0;
  let isRunning = true;
  let before = cpuMicroseconds();
  const turn = (): void => {
    const now = cpuMicroseconds();
    longest = Math.max(longest, now - before);
    before = now;
    if (isRunning) setTimeout(turn, PAUSE_MS);
  };
  setTimeout(turn, PAUSE_MS);
  try {
    const value = await work();
    // A task that has just begun belongs to the work.
    await new Promise((resolve) => setTimeout(resolve, 2 * PAUSE_MS));
    return { value, longestMs: longest / 1000 };
  } finally {
    isRunning = false;
  }
}

function cpuMicroseconds(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}
