// A request body that is sent to a provider while it arrives. Only what the provider has not taken yet is in memory: about one
// piece, as the client's socket delivers it.
import { NOT_A_MEMBER } from "../base/dense-set.ts";
import { toError } from "../base/to-error.ts";
import type { ArrivingBody } from "./body-budget.ts";
import type { Deadline } from "./coarse-deadlines.ts";
import { freeReceived } from "./free-memory.ts";
import { PACE_BYTES, PACE_MS, tooLarge, tooSlow, type BodyLimits } from "./incoming-body.ts";

/** The client's side of a body. */
export interface BodySource {
  /** Delivers the body to `push` and `end` from now on. */
  startBody(body: ForwardedBody): void;
  /** Delivers nothing more, also not what has arrived. */
  stopBody(): void;
  pauseBody(): void;
  resumeBody(): void;
}

/** The provider's side of a body. */
export interface BodySink {
  /** Returns false if the provider has not taken all bytes: call `resume` of the body when it has. */
  write(bytes: Uint8Array): boolean;
  /** All bytes have been written. */
  end(): void;
  /** The rest of the body will not arrive. */
  fail(error: Error): void;
}

export class ForwardedBody implements Deadline, ArrivingBody {
  dueAt = Infinity;
  setPosition = NOT_A_MEMBER;
  progressAt = 0;
  readonly length: number;
  /** When the last byte arrived, as a time of the clock; null before. */
  endedAt: number | null = null;
  /** Why the body did not arrive completely. */
  error: Error | null = null;
  readonly #limits: BodyLimits;
  readonly #source: BodySource;
  #sink: BodySink | null = null;
  #receivedBytes = 0;
  /** The size at which the body has made progress again. */
  #nextProgress = PACE_BYTES;
  /** Pieces that the provider has not taken completely, and their bytes, which count in the budget. */
  #held: Uint8Array[] = [];
  #heldBytes = 0;

  /** Throws a GatehouseError if the declared length is too large. */
  constructor(length: number, limits: BodyLimits, source: BodySource) {
    if (length > limits.maxBodyBytes) throw tooLarge(limits);
    this.length = length;
    this.#limits = limits;
    this.#source = source;
  }

  /** Whether all of the body can still be sent to another sink. */
  get isUntouched(): boolean {
    return this.#receivedBytes === 0 && this.error === null;
  }

  // Called by the sink

  /** Sends the body to `sink`, which replaces another one. Call it only while the body is untouched. */
  start(sink: BodySink): void {
    this.#sink = sink;
    this.#extendDeadline();
    this.#limits.deadlines.watch(this);
    this.#source.startBody(this);
  }

  /** The provider has taken all bytes that were written. */
  resume(): void {
    for (const piece of this.#held) freeReceived(piece);
    this.#releaseHeld();
    if (this.endedAt === null) this.#extendDeadline();
    this.#source.resumeBody();
  }

  /** Nothing more is written to `sink`. */
  stop(sink: BodySink): void {
    if (this.#sink !== sink) return;
    this.#detach();
    this.#source.stopBody();
  }

  // Called by the source

  push(bytes: Uint8Array): void {
    const sink = this.#sink;
    if (sink === null) return;
    const { byteLength } = bytes;
    this.#receivedBytes += byteLength;
    if (this.#receivedBytes >= this.#nextProgress) {
      this.#nextProgress = this.#receivedBytes + PACE_BYTES;
      this.#extendDeadline();
    }
    if (sink.write(bytes)) freeReceived(bytes);
    else if (this.#sink === sink) this.#hold(bytes);
  }

  end(): void {
    this.endedAt = this.#limits.deadlines.clock.now();
    this.#limits.deadlines.unwatch(this);
    this.#sink?.end();
  }

  fail(error: Error): void {
    if (this.endedAt !== null || this.error !== null) return;
    this.error = error;
    const sink = this.#sink;
    this.#detach();
    this.#source.stopBody();
    sink?.fail(error);
  }

  // Deadline and ArrivingBody

  expire(): void {
    this.fail(tooSlow());
  }

  refuse(error: Error): void {
    // The budget may need the memory of a body that has arrived, and that the provider does not read.
    this.endedAt = null;
    this.fail(error);
  }

  /** Keeps a piece for the provider, and stops the client: the wait is not the client's. */
  #hold(bytes: Uint8Array): void {
    const { bodyBudget, deadlines } = this.#limits;
    this.#source.pauseBody();
    this.dueAt = Infinity;
    this.progressAt = deadlines.clock.now();
    try {
      bodyBudget.takeLarge(this, bytes.byteLength);
    } catch (error) {
      this.refuse(toError(error));
      return;
    }
    this.#held.push(bytes);
    this.#heldBytes += bytes.byteLength;
    bodyBudget.progressed(this);
  }

  #releaseHeld(): void {
    if (this.#heldBytes === 0) return;
    this.#limits.bodyBudget.ended(this);
    this.#limits.bodyBudget.release(this.#heldBytes);
    this.#held = [];
    this.#heldBytes = 0;
  }

  #detach(): void {
    this.#sink = null;
    this.#limits.deadlines.unwatch(this);
    this.#releaseHeld();
  }

  #extendDeadline(): void {
    this.dueAt = this.#limits.deadlines.clock.now() + PACE_MS;
  }
}
