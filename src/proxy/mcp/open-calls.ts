// Requests of MCP sessions that this node serves at the moment, by session and id, so that a notification can cancel them.
import { digestName } from "../../base/digest-name.ts";

interface Abortable {
  abort(): void;
}

export class OpenCalls {
  readonly #calls = new Map<string, Abortable>();

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
}

function keyOf(sessionId: string, id: string | number): string {
  return `${digestName(sessionId)} ${JSON.stringify(id)}`;
}
