// A request whose response others wait for: requests with the same key that arrive while it is in progress. Streams are passed on while
// they arrive.
import type { FormatName } from "../../formats/format-names.ts";
import type { BodyReader } from "../../http/body-reader.ts";
import { UpstreamError } from "../../upstream/upstream-error.ts";
import type { KeptResponse } from "../../runtime/responses/kept-response.ts";

/** How far a client may be behind the stream before its copy is cut: the bytes are kept for it alone. */
const MAX_LAG_BYTES = 4 * 1024 * 1024;

/** What is known of a stream when it starts. */
interface StreamStart {
  readonly status: number;
  readonly provider: string;
  readonly model: string | null;
  readonly dropped: readonly string[];
  readonly targetTag: string;
  readonly format: FormatName;
}

/** A stream that is still arriving. */
export interface LiveStream extends StreamStart {
  readonly reader: BodyReader;
  /** The response when the stream has ended; null if it was not kept. */
  readonly flight: Flight;
}

/** The response; null if there is none to share, and the request has to be sent. */
export type FlightResult = KeptResponse | LiveStream | null;

interface Waiter {
  /** Streams with the same options are the same; null if the client does not want a stream. */
  readonly streamKey: string | null;
  /** Whether the client takes a response that another one considers too old. */
  readonly accepts: (kept: KeptResponse) => boolean;
  readonly resolve: (result: FlightResult) => void;
}

export class Flight {
  /** The response, when it is complete and kept. */
  kept: KeptResponse | null = null;
  /** A response is kept that the first request considers too old: it may serve others. */
  isRevalidating = false;
  /** That of the store when the request was sent. Requests of another generation do not join: the store was purged since. */
  generation: string;
  readonly #onEnd: () => void;
  readonly #waiters = new Set<Waiter>();
  readonly #readers = new Set<LiveReader>();
  #start: (StreamStart & { readonly streamKey: string | null }) | null = null;
  #chunks: Uint8Array[] = [];
  #isEnded = false;
  #onUnused: (() => void)[] = [];

  /** `onEnd` is called when no further request may join. */
  constructor(generation: string, onEnd: () => void) {
    this.generation = generation;
    this.#onEnd = onEnd;
  }

  get hasWaiters(): boolean {
    return this.#waiters.size + this.#readers.size > 0;
  }

  /** `callback` is called when the last waiter has left before the end. */
  whenUnused(callback: () => void): void {
    this.#onUnused.push(callback);
  }

  /** Returns the result, and a function to stop waiting. */
  join(
    streamKey: string | null,
    accepts: Waiter["accepts"],
  ): { result: Promise<FlightResult>; leave: () => void } {
    const { promise, resolve } = Promise.withResolvers<FlightResult>();
    const waiter: Waiter = { streamKey, accepts, resolve };
    this.#waiters.add(waiter);
    this.#passOn(waiter);
    const leave = () => {
      if (this.#waiters.delete(waiter)) this.#left();
      resolve(null);
    };
    return { result: promise, leave };
  }

  /** The first request considers the kept response too old. Those that have joined during the lookup may take it. */
  revalidate(kept: KeptResponse): void {
    this.isRevalidating = true;
    for (const waiter of [...this.#waiters]) {
      if (waiter.accepts(kept) && this.#waiters.delete(waiter)) waiter.resolve(kept);
    }
    this.#left();
  }

  startStream(start: StreamStart, streamKey: string | null): void {
    this.#start = { ...start, streamKey };
    for (const waiter of [...this.#waiters]) this.#passOn(waiter);
  }

  push(bytes: Uint8Array): void {
    if (!this.#isEnded) this.#chunks.push(bytes);
    for (const reader of [...this.#readers]) reader.push(bytes);
  }

  /** The response is not kept: no further request may join, and those that wait for it are sent themselves. */
  giveUp(): void {
    this.#close(null);
  }

  /** The response is complete; `kept` is null if it is not kept. */
  complete(kept: KeptResponse | null): void {
    this.kept = kept;
    this.#close(kept);
    for (const reader of [...this.#readers]) reader.end();
    this.#readers.clear();
  }

  /** The response broke off. */
  fail(): void {
    this.#close(null);
    for (const reader of [...this.#readers]) reader.fail();
    this.#readers.clear();
  }

  #close(kept: KeptResponse | null): void {
    if (!this.#isEnded) this.#onEnd();
    this.#isEnded = true;
    this.#chunks = [];
    for (const waiter of this.#waiters) waiter.resolve(kept);
    this.#waiters.clear();
    if (this.#readers.size === 0) this.#left();
  }

  /** Passes a stream on that has the options of the waiter. */
  #passOn(waiter: Waiter): void {
    const start = this.#start;
    if (start === null || this.#isEnded || waiter.streamKey === null || waiter.streamKey !== start.streamKey)
      return;
    this.#waiters.delete(waiter);
    const reader = new LiveReader([...this.#chunks], () => {
      if (this.#readers.delete(reader)) this.#left();
    });
    this.#readers.add(reader);
    waiter.resolve({ ...start, reader, flight: this });
  }

  #left(): void {
    if (this.hasWaiters) return;
    const callbacks = this.#onUnused;
    this.#onUnused = [];
    for (const callback of callbacks) callback();
  }
}

/** Reads a stream that another request receives, at its own pace. */
class LiveReader implements BodyReader {
  readonly #queue: Uint8Array[];
  readonly #onCancel: () => void;
  /** The index of the first chunk that was not read. */
  #next = 0;
  /** Of the chunks that were pushed and not read. */
  #queuedBytes = 0;
  #ending: "complete" | "broken" | null = null;
  #waiting: PromiseWithResolvers<undefined> | null = null;

  constructor(queue: Uint8Array[], onCancel: () => void) {
    this.#queue = queue;
    this.#onCancel = onCancel;
  }

  push(bytes: Uint8Array): void {
    this.#queue.push(bytes);
    this.#queuedBytes += bytes.byteLength;
    if (this.#queuedBytes > MAX_LAG_BYTES) {
      this.fail();
      this.#onCancel();
    }
    this.#wake();
  }

  end(): void {
    this.#ending ??= "complete";
    this.#wake();
  }

  fail(): void {
    this.#ending ??= "broken";
    this.#wake();
  }

  async next(): Promise<Uint8Array | null> {
    const bytes = await this.peek();
    if (bytes === null) return null;
    this.#next++;
    this.#queuedBytes = Math.max(0, this.#queuedBytes - bytes.byteLength);
    // A client that is always a little behind never empties the queue. Removing half of it at a time is cheap for each chunk.
    if (this.#next * 2 >= this.#queue.length) {
      this.#queue.splice(0, this.#next);
      this.#next = 0;
    }
    return bytes;
  }

  async peek(): Promise<Uint8Array | null> {
    while (this.#next >= this.#queue.length && this.#ending === null) {
      this.#waiting ??= Promise.withResolvers<undefined>();
      await this.#waiting.promise;
    }
    const bytes = this.#queue[this.#next];
    if (bytes !== undefined) return bytes;
    if (this.#ending === "broken") throw new UpstreamError("cut");
    return null;
  }

  cancel(): void {
    this.fail();
    this.#onCancel();
  }

  #wake(): void {
    this.#waiting?.resolve(undefined);
    this.#waiting = null;
  }
}
