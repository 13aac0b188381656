// Leaves the event loop a turn now and then during long work: the embedded database answers without one, and requests
// must get theirs meanwhile.

const STEPS = 20;

/** To be awaited at every step; now and then that takes a turn. */
export function createYielder(): () => Promise<void> | undefined {
  let steps = 0;
  return () => (++steps % STEPS === 0 ? new Promise((resolve) => setImmediate(resolve)) : undefined);
}
