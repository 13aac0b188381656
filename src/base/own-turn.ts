// Gives large pieces of work a turn of the event loop each: pieces that become ready at the same time would keep other requests waiting for
// the sum of them.

let last: Promise<void> = Promise.resolve();

/** Resolves in a turn of the event loop in which no other caller continues. */
export function ownTurn(): Promise<void> {
  last = last.then(() => new Promise((resolve) => setImmediate(resolve)));
  return last;
}
