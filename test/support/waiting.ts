// Waits that tests share. A test waits for a condition, never for a fixed time.

/** Waits for turns of the event loop: work that only needs promises and immediates is done afterwards. */
export async function eventLoopTurns(count = 5): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

const STABLE_MS = 200;

/**
 * Resolves to a number that has stopped changing. For what only the kernel knows, such as how many bytes fit into the
 * socket buffers of a connection whose reader has paused.
 */
export async function untilStable(read: () => number): Promise<number> {
  for (let before = NaN; ;) {
    const value = read();
    if (value === before) return value;
    before = value;
    await Bun.sleep(STABLE_MS);
  }
}
