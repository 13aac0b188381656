// Yields to the event loop during long work: calls to the embedded database never do, and requests must be served
// meanwhile.

const STEPS_PER_TURN = 20;

/** Returns a function to await at every step; every 20th call waits for one turn of the event loop. */
export function createYielder(): () => Promise<void> | undefined {
  let steps = 0;
  return () => (++steps % STEPS_PER_TURN === 0 ? nextTurn() : undefined);
}

/** Waits for one turn of the event loop, between parts of a work that cannot be divided further. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
