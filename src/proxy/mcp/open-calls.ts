// Requests of MCP sessions that this node serves at the moment, by session and id, so that a notification can cancel them; and
// sessions that a client has ended here.
import { BoundedCache } from "../../base/bounded-cache.ts";
import { digestName } from "../../base/digest-name.ts";

const KEPT_ENDED = 10_000;

interface Abortable {
  abort(): void;
}

export class OpenCalls {
  readonly #calls = new Map<string, Abortable>();
  readonly #ended = new BoundedCache<string, true>(KEPT_ENDED);

  /** Returns a function that removes the request. Requests without a session cannot be canceled by a notification. */
  add(sessionId: string, id: string | number, request: Abortable): () => void {
    if (sessionId === "") return () => undefined;
    const key = keyOf(sessionId, id);
    this.#calls.set(key, request);
    return () => {
      if (this.#calls.get(key) === request) this.#calls.delete(key);
    };
  }

  cancel(sessionId: string, id: unknown): void {
    if (typeof id === "string" || typeof id === "number") this.#calls.get(keyOf(sessionId, id))?.abort();
  }

  endSession(sessionId: string): void {
    this.#ended.set(digestName(sessionId), true);
  }

  isEnded(sessionId: string): boolean {
    return this.#ended.get(digestName(sessionId)) === true;
  }
}

function keyOf(sessionId: string, id: string | number): string {
  return `${digestName(sessionId)} ${JSON.stringify(id)}`;
}
