// Collects a request body in memory, with limits on its size, on the time between pieces, and on the memory of all bodies.
import { NOT_A_MEMBER } from "../base/dense-set.ts";
import { GatehouseError } from "../base/errors.ts";
import { toError } from "../base/to-error.ts";
import { SMALL_BODY_BYTES, type ArrivingBody, type BodyBudget } from "./body-budget.ts";
import { ChunkCollector } from "./chunk-collector.ts";
import type { CoarseDeadlines, Deadline } from "./coarse-deadlines.ts";
import { freeBuffer, freeReceived, LARGE_BUFFER_BYTES } from "./free-memory.ts";

/** Every PACE_BYTES of a body, and its end, must arrive within PACE_MS of the previous ones. */
export const PACE_MS = 60_000;
export const PACE_BYTES = 64 * 1024;

const NO_BYTES = new Uint8Array(0);

export interface BodyLimits {
  readonly maxBodyBytes: number;
  /** The setting that limits the size, for the error message; MAX_BODY_BYTES if absent. */
  readonly sizeSetting?: string;
  readonly deadlines: CoarseDeadlines;
  readonly bodyBudget: BodyBudget;
}

/** A body while it arrives, and its share of the budget until `release`. The time limit applies from the call of `received`. */
export class IncomingBody implements Deadline, ArrivingBody {
  dueAt = Infinity;
  setPosition = NOT_A_MEMBER;
  progressAt: number;
  readonly #limits: BodyLimits;
  /** The declared length; null if it is unknown. */
  readonly #length: number | null;
  /** Bodies with a small declared length may use all of the budget. */
  readonly #isSmall: boolean;
  /** Null before the first piece. */
  #chunks: ChunkCollector | null = null;
  #bytes: Uint8Array | null = null;
  /** The memory of a body that was taken, if it is worth freeing. It has no bytes of other requests. */
  #memory: ArrayBufferLike | null = null;
  /** Bytes that count in the budget. */
  #counted = 0;
  /** The size at which the body has made progress again. */
  #nextProgress = PACE_BYTES;
  #isReleased = false;
  #error: Error | null = null;
  #waiter: PromiseWithResolvers<undefined> | null = null;

  /** `length`: the declared length; null if it is unknown. Throws a GatehouseError if it is too large. */
  constructor(length: number | null, limits: BodyLimits) {
    if (length !== null && length > limits.maxBodyBytes) throw tooLarge(limits);
    this.#limits = limits;
    this.#length = length;
    this.#isSmall = length !== null && length <= SMALL_BODY_BYTES;
    this.progressAt = 0;
  }

  /** For a body that has arrived completely. Throws a GatehouseError if it is too large or does not fit into the budget. */
  static complete(bytes: Uint8Array, limits: BodyLimits): IncomingBody {
    const body = new IncomingBody(bytes.byteLength, limits);
    body.#count(bytes.byteLength);
    body.#bytes = bytes;
    return body;
  }

  // Called by the sender of the bytes, which may continue after a failure

  push(bytes: Uint8Array): void {
    if (this.#isReleased || this.#error !== null) {
      freeReceived(bytes);
      return;
    }
    try {
      const chunks = this.#chunks ?? this.#begin();
      if (chunks.size + bytes.byteLength > this.#limits.maxBodyBytes) throw tooLarge(this.#limits);
      this.#count(bytes.byteLength);
      chunks.add(bytes);
      if (chunks.size < this.#nextProgress) return;
      this.#nextProgress = chunks.size + PACE_BYTES;
      this.#progress();
    } catch (error) {
      this.refuse(toError(error));
      freeReceived(bytes);
    }
  }

  /** All bytes have been pushed. */
  end(): void {
    if (this.#isReleased || this.#error !== null) return;
    this.#limits.bodyBudget.ended(this);
    this.#bytes = this.#chunks?.take() ?? NO_BYTES;
    this.#takeWaiter()?.resolve(undefined);
  }

  fail(error: Error): void {
    this.#error ??= error;
    this.#takeWaiter()?.reject(this.#error);
  }

  get isComplete(): boolean {
    return this.#bytes !== null;
  }

  /** It failed or was released before it was complete: further bytes are not needed. */
  get isRefused(): boolean {
    return this.#bytes === null && (this.#isReleased || this.#error !== null);
  }

  /** Resolves when the whole body has arrived. */
  received(): Promise<undefined> {
    if (this.#bytes !== null) return Promise.resolve(undefined);
    if (this.#error !== null) return Promise.reject(this.#error);
    this.#waiter = Promise.withResolvers<undefined>();
    this.#extendDeadline();
    this.#limits.deadlines.watch(this);
    return this.#waiter.promise;
  }

  /** Returns the bytes of a complete body and forgets them. They count in the budget until `release`. */
  take(): Uint8Array {
    const bytes = this.#bytes;
    if (bytes === null) throw new Error("the body is not complete, or was taken before");
    this.#bytes = null;
    if (bytes.byteLength >= LARGE_BUFFER_BYTES) this.#memory = bytes.buffer;
    return bytes;
  }

  /** Frees the memory of a body that was taken, unless it is small. What still refers to it becomes empty. */
  free(): void {
    const memory = this.#memory;
    this.#memory = null;
    if (memory === null) return;
    this.#limits.bodyBudget.collectionReserve.onFreed(memory.byteLength);
    freeBuffer(memory);
  }

  /** Removes the body from the budget. Stops reading if it is still arriving. */
  release(): void {
    if (this.#chunks !== null && !this.#isReleased) {
      this.#limits.bodyBudget.ended(this);
      this.#chunks.clear();
    }
    this.#isReleased = true;
    this.#takeWaiter();
    this.#bytes = null;
    this.#limits.bodyBudget.release(this.#counted);
    this.#counted = 0;
  }

  expire(): void {
    this.refuse(tooSlow());
  }

  refuse(error: Error): void {
    this.fail(error);
    this.release();
  }

  /** Throws a GatehouseError if the budget has no room. */
  #count(bytes: number): void {
    const { bodyBudget } = this.#limits;
    if (this.#isSmall) bodyBudget.takeSmall(bytes);
    else bodyBudget.takeLarge(this, bytes);
    this.#counted += bytes;
  }

  #begin(): ChunkCollector {
    this.#progress();
    return (this.#chunks = new ChunkCollector(this.#length, this.#limits.bodyBudget));
  }

  #takeWaiter(): PromiseWithResolvers<undefined> | null {
    const waiter = this.#waiter;
    if (waiter !== null) this.#limits.deadlines.unwatch(this);
    this.#waiter = null;
    return waiter;
  }

  #extendDeadline(): void {
    this.progressAt = this.#limits.deadlines.clock.now();
    this.dueAt = this.progressAt + PACE_MS;
  }

  #progress(): void {
    this.#extendDeadline();
    this.#limits.bodyBudget.progressed(this);
  }
}

export function tooLarge({ maxBodyBytes, sizeSetting = "MAX_BODY_BYTES" }: BodyLimits): GatehouseError {
  return new GatehouseError(
    "body_too_large",
    `The body is larger than ${maxBodyBytes} bytes (${sizeSetting}).`,
  );
}

/** Closes the connection: its next bytes would be the rest of this body. */
export function tooSlow(): GatehouseError {
  const message = `Less than ${PACE_BYTES / 1024} KiB of the body arrived within ${PACE_MS / 1000} seconds.`;
  return new GatehouseError("request_timeout", message, { headers: { Connection: "close" } });
}
