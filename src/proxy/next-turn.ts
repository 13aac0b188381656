// Waits for the next turn of the event loop, so that Bun can reject invalid bytes that follow a request.

let next: Promise<null> | null = null;

/**
 * Bun hands over a request before it has parsed the bytes that follow it in the same TCP segment. If those are invalid or
 * a pipelined request, Bun closes the connection and the client never receives a response; one turn later this is known.
 * All requests of a turn share one promise, so the wait costs almost nothing under load. Resolves to null, the result of
 * a step that does not end the request.
 */
export function nextTurn(): Promise<null> {
  next ??= new Promise((resolve) => {
    setImmediate(() => {
      next = null;
      resolve(null);
    });
  });
  return next;
}
