// Handles the messages of a client one after the other: a message that waits for the ledger must not be overtaken by a later one.
import { isPromise, type ValueOrPromise } from "../../base/value-or-promise.ts";

type Message = string | Uint8Array;

interface ClientMessageEvents {
  /** Must not reject. */
  handle(message: Message): ValueOrPromise<void>;
  /** No message waits any more: the client may be read again. */
  onHandled(): void;
  onHandlerError(error: unknown): void;
}

export class ClientMessages {
  readonly #events: ClientMessageEvents;
  /** Messages that had been read before the client was paused. */
  readonly #waiting: Message[] = [];
  #isWaiting = false;

  constructor(events: ClientMessageEvents) {
    this.#events = events;
  }

  /** While a message waits, the client should not be read. */
  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  add(message: Message): void {
    if (this.#isWaiting) {
      this.#waiting.push(message);
      return;
    }
    const handled = this.#events.handle(message);
    if (isPromise(handled)) void this.#handleAll(handled);
  }

  async #handleAll(first: Promise<void>): Promise<void> {
    this.#isWaiting = true;
    try {
      await first;
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift())
        await this.#events.handle(next);
    } catch (error) {
      this.#waiting.length = 0;
      this.#events.onHandlerError(error);
    }
    this.#isWaiting = false;
    this.#events.onHandled();
  }
}
