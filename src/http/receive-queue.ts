// Bytes that sockets receive in one turn of the event loop wait until all of them have arrived, and are then read together. Running the same
// code for many connections in a row takes less time than reading requests, relaying responses and receiving in turn, probably because the
// code stays in the caches of the processor. See decision 0141.

export interface Receiver {
  /** Received bytes that wait; null if there are none. Only the queue changes it. */
  queued: Buffer | null;
  onData(bytes: Buffer): void;
  /** `onData` has thrown. */
  onDataError(error: unknown): void;
}

/** Larger chunks are read at once: reading them takes so long that other code is out of the caches anyway. */
const MAX_CHUNK_BYTES = 64 * 1024;
/** Memory that is not counted anywhere else. */
const MAX_QUEUED_BYTES = 1024 * 1024;

export class ReceiveQueue {
  readonly #receivers: Receiver[] = [];
  #next = 0;
  #queuedBytes = 0;

  /** Calls `onData` with the bytes before the next turn of the event loop, or now if they are many. The order of a receiver's bytes is kept. */
  push(receiver: Receiver, bytes: Buffer): void {
    if (receiver.queued !== null) this.deliver();
    if (bytes.byteLength > MAX_CHUNK_BYTES) {
      deliverTo(receiver, bytes);
      return;
    }
    receiver.queued = bytes;
    this.#queuedBytes += bytes.byteLength;
    if (this.#receivers.push(receiver) === 1) setImmediate(this.deliver);
    else if (this.#queuedBytes > MAX_QUEUED_BYTES) this.deliver();
  }

  /** Reads what waits if this receiver has bytes in the queue. Call it before the receiver closes. */
  finish(receiver: Receiver): void {
    if (receiver.queued !== null) this.deliver();
  }

  readonly deliver = (): void => {
    // A receiver may call this again.
    for (;;) {
      const receiver = this.#receivers[this.#next++];
      if (receiver === undefined) break;
      const bytes = receiver.queued;
      receiver.queued = null;
      if (bytes !== null) deliverTo(receiver, bytes);
    }
    this.#receivers.length = this.#next = this.#queuedBytes = 0;
  };
}

function deliverTo(receiver: Receiver, bytes: Buffer): void {
  try {
    receiver.onData(bytes);
  } catch (error) {
    receiver.onDataError(error);
  }
}

/** Two queues, because requests and responses run different code. */
export const fromClients = new ReceiveQueue();
export const fromProviders = new ReceiveQueue();

/** Call it before timeouts are checked: bytes that have arrived in time must not be too late because they wait. */
export function deliverReceived(): void {
  fromProviders.deliver();
  fromClients.deliver();
}
