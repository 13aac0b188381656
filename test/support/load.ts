// Load from several callers at once, for tests of what happens to requests during an outage or a restart.

/** Keeps the callers from using all of the CPU that the processes under test need. */
const PAUSE_MS = 2;

/**
 * Calls `request` from several callers, each again and again after a short pause. Returns a function that ends the load and
 * resolves when the last request has ended.
 */
export function startLoad(
  callerCount: number,
  request: (caller: number, round: number) => Promise<unknown>,
): () => Promise<void> {
  let isRunning = true;
  const callers = Array.from({ length: callerCount }, async (_, caller) => {
    for (let round = 0; isRunning; round++) {
      await request(caller, round);
      await Bun.sleep(PAUSE_MS);
    }
  });
  return async () => {
    isRunning = false;
    await Promise.all(callers);
  };
}
