// Waits until the runtime has read what it is reading.

let next: Promise<void> | null = null;

/**
 * The runtime hands over a request before it has parsed what stands behind it in the same segment; when that is
 * garbage or a pipelined request it closes the connection, and the client never sees an answer. One turn later it is
 * known. All requests of a turn share one wait, which makes it all but free under load.
 */
export function nextTurn(): Promise<void> {
  next ??= new Promise((resolve) => {
    setImmediate(() => {
      next = null;
      resolve();
    });
  });
  return next;
}
