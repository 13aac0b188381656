// Reads and handles the messages of a client one after the other: a message that waits for the ledger, or for the thread that reads it, must
// not be overtaken by a later one.
import { isPromise, type ValueOrPromise } from "../../base/value-or-promise.ts";
import { LargeMessage, type ReceivedMessage } from "../../http/websocket/messages.ts";
import type { Refusal } from "../client-permission.ts";
import { readClientMessage, type ClientMessage } from "./client-message.ts";
import type { LargeMessages } from "./large-messages.ts";
import type { SocketPermission } from "./socket-permission.ts";

interface ClientMessageEvents {
  /** The client may not continue. The socket is being closed. */
  onRefused(refusal: Refusal): void;
  handle(message: ClientMessage): ValueOrPromise<void>;
  /** No message waits any more: the client may be read again. */
  onHandled(): void;
  onHandlerError(error: unknown): void;
}

export class ClientMessages {
  readonly #large: LargeMessages;
  readonly #permission: SocketPermission;
  readonly #events: ClientMessageEvents;
  /** Messages that had been read before the client was paused. */
  readonly #waiting: ReceivedMessage[] = [];
  #isWaiting = false;

  constructor(large: LargeMessages, permission: SocketPermission, events: ClientMessageEvents) {
    this.#large = large;
    this.#permission = permission;
    this.#events = events;
  }

  /** While a message waits, the client should not be read. */
  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  add(message: ReceivedMessage): void {
    const refusal = this.#permission.refusalOf(message);
    if (refusal !== null) {
      this.#events.onRefused(refusal);
      return;
    }
    if (this.#isWaiting) {
      this.#waiting.push(message);
      return;
    }
    const handled = this.#handle(message);
    if (isPromise(handled)) void this.#handleAll(handled);
  }

  #handle(message: ReceivedMessage): ValueOrPromise<void> {
    if (!(message instanceof LargeMessage)) return this.#events.handle(readClientMessage(message));
    return this.#large.fromClient(message).then((read) => {
      const refusal = this.#permission.refusalOfModels(read.models);
      if (refusal === null) return this.#events.handle(read);
      this.#events.onRefused(refusal);
      return undefined;
    });
  }

  async #handleAll(first: Promise<void>): Promise<void> {
    this.#isWaiting = true;
    try {
      await first;
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift())
        await this.#handle(next);
    } catch (error) {
      this.#waiting.length = 0;
      this.#events.onHandlerError(error);
    }
    this.#isWaiting = false;
    this.#events.onHandled();
  }
}
