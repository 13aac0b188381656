// Limits the memory for request bodies of this process. A client that sends half of a large body and then waits must not
// take the memory that other clients need.
import type { Clock } from "../base/clock.ts";
import { GatehouseError } from "../base/errors.ts";
import { CollectionReserve } from "./collection-reserve.ts";

/** Part of the budget that only bodies up to SMALL_BODY_BYTES may use, so that large ones cannot stop the ordinary traffic. */
const RESERVED_FOR_SMALL = 1 / 4;
export const SMALL_BODY_BYTES = 64 * 1024;

/** Up to this part of the budget, bodies may be copied into one piece of memory while their chunks are still allocated. */
const AMPLE = 1 / 16;

/** A body that made no progress for this time may lose its memory to another request. */
const STALLED_MS = 1000;

/** A large body that is still arriving. */
export interface ArrivingBody {
  /** When it last made progress, as a time of the clock. */
  readonly progressAt: number;
  /** Ends its request with this error and releases its bytes. */
  refuse(error: Error): void;
}

export class BodyBudget {
  readonly collectionReserve: CollectionReserve;
  readonly #limit: number;
  readonly #limitOfLarge: number;
  readonly #clock: Clock;
  readonly #onRefused: () => void;
  /** Ordered by progress: the body that has waited longest is first. */
  readonly #arriving = new Set<ArrivingBody>();
  #used = 0;

  /** `onRefused` is called for every body that is refused. */
  constructor(limit: number, clock: Clock, onRefused: () => void = () => undefined) {
    this.#limit = limit;
    this.#limitOfLarge = Math.floor(limit * (1 - RESERVED_FOR_SMALL));
    this.#clock = clock;
    this.collectionReserve = new CollectionReserve(clock);
    this.#onRefused = onRefused;
  }

  /** Bytes in memory. */
  get used(): number {
    return this.#used;
  }

  /** Whether copies of requests must not keep further bodies in memory: those of clients need the rest. */
  get isHalfUsed(): boolean {
    return this.#used > this.#limit / 2;
  }

  /** Whether most of the budget is free. */
  get isAmple(): boolean {
    return this.#used <= this.#limit * AMPLE;
  }

  /** Takes bytes of a body that has arrived completely. Throws a GatehouseError if there is no room. */
  takeSmall(bytes: number): void {
    if (this.#used + bytes > this.#limit && !this.#makeRoom(bytes, this.#limit, null)) throw this.#refusal();
    this.#used += bytes;
  }

  /** Takes further bytes of a large body. Throws a GatehouseError if there is no room. */
  takeLarge(body: ArrivingBody, bytes: number): void {
    if (this.#used + bytes > this.#limitOfLarge && !this.#makeRoom(bytes, this.#limitOfLarge, body))
      throw this.#refusal();
    this.#used += bytes;
  }

  /** Call when a large body starts to arrive, and whenever it has made progress. */
  progressed(body: ArrivingBody): void {
    this.#arriving.delete(body);
    this.#arriving.add(body);
  }

  /** Call when a large body has arrived or failed. */
  ended(body: ArrivingBody): void {
    this.#arriving.delete(body);
  }

  release(bytes: number): void {
    this.#used -= bytes;
  }

  /** Refuses bodies that have stalled until `bytes` fit. Returns whether they do. */
  #makeRoom(bytes: number, limit: number, requester: ArrivingBody | null): boolean {
    const stalledBefore = this.#clock.now() - STALLED_MS;
    for (const body of this.#arriving) {
      if (this.#used + bytes <= limit || body.progressAt > stalledBefore) break;
      if (body === requester) continue;
      this.#arriving.delete(body);
      body.refuse(this.#refusal());
    }
    return this.#used + bytes <= limit;
  }

  #refusal(): GatehouseError {
    this.#onRefused();
    const message = `Request bodies in memory have reached ${this.#limit} bytes (MAX_BUFFERED_BYTES). Retry later.`;
    return new GatehouseError("overloaded", message, {
      headers: { "Retry-After": "1", Connection: "close" },
    });
  }
}
