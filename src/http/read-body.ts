// Reads a request body into memory with limits on its size, on the time between pieces, and on the memory of all bodies.
import { NOT_A_MEMBER } from "../base/dense-set.ts";
import { GatehouseError } from "../base/errors.ts";
import { toError } from "../base/to-error.ts";
import { SMALL_BODY_BYTES, type ArrivingBody, type BodyBudget } from "./body-budget.ts";
import { ChunkCollector } from "./chunk-collector.ts";
import type { CoarseDeadlines, Deadline } from "./coarse-deadlines.ts";

/** Every PACE_BYTES of a body, and its end, must arrive within PACE_MS of the previous ones. */
const PACE_MS = 60_000;
const PACE_BYTES = 64 * 1024;

/** What Bun may have received of a body before it is read here. It counts in the budget while the body arrives. */
const WINDOW_BYTES = 512 * 1024;

export interface BodyLimits {
  readonly maxBodyBytes: number;
  /** The setting that limits the size, for the error message; MAX_BODY_BYTES if absent. */
  readonly sizeSetting?: string;
  readonly deadlines: CoarseDeadlines;
  readonly bodyBudget: BodyBudget;
}

/**
 * Returns the whole body, which no longer counts in the budget. Rejects with a GatehouseError if it is too large, arrives
 * too slowly, or does not fit into the budget.
 */
export async function readBody(request: Request, limits: BodyLimits): Promise<Uint8Array> {
  const body = startReadingBody(request, limits);
  if (body === null) return new Uint8Array(0);
  await body.received();
  const bytes = body.take();
  body.release();
  return bytes;
}

/** Starts to read the body. Returns null if the request has none. */
export function startReadingBody(request: Request, limits: BodyLimits): IncomingBody | null {
  const declared = request.headers.get("content-length");
  const length = declared === null ? null : Number(declared);
  if (length !== null && length > limits.maxBodyBytes) throw tooLarge(limits);
  // Bun enforces the declared length, and `bytes` costs half as much as a stream.
  if (length !== null && length <= SMALL_BODY_BYTES)
    return length === 0 ? null : new IncomingBody(limits, request.bytes(), 0);
  const window = Math.min(length ?? WINDOW_BYTES, WINDOW_BYTES);
  return request.body === null ? null : new IncomingBody(limits, request.body, window);
}

interface BodyStreamReader {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
}

/** A body while it arrives, and its share of the budget until `release`. The time limit applies from the call of `received`. */
export class IncomingBody implements Deadline, ArrivingBody {
  dueAt = Infinity;
  setPosition = NOT_A_MEMBER;
  progressAt: number;
  readonly #limits: BodyLimits;
  /** Null for a small body. */
  readonly #reader: BodyStreamReader | null;
  readonly #chunks: ChunkCollector | null;
  #bytes: Uint8Array | null = null;
  /** Bytes that count in the budget. */
  #counted = 0;
  #isReleased = false;
  #error: Error | null = null;
  #waiter: PromiseWithResolvers<undefined> | null = null;

  /** `windowBytes` count in the budget in addition to what was read, as long as the body arrives. */
  constructor(
    limits: BodyLimits,
    source: Promise<Uint8Array> | ReadableStream<Uint8Array>,
    windowBytes: number,
  ) {
    this.#limits = limits;
    this.progressAt = 0;
    if (source instanceof Promise) {
      this.#reader = this.#chunks = null;
      source.then(
        (bytes) => this.#completeSmall(bytes),
        (error: unknown) => this.#fail(toError(error)),
      );
    } else {
      this.#reader = source.getReader();
      this.#chunks = new ChunkCollector();
      void this.#readStream(this.#reader, this.#chunks, windowBytes);
    }
  }

  get isComplete(): boolean {
    return this.#bytes !== null;
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
    return bytes;
  }

  /** Removes the body from the budget. Stops reading if it is still arriving. */
  release(): void {
    if (this.#chunks !== null && !this.#isReleased) this.#stopReading(this.#chunks);
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
    this.#fail(error);
    this.release();
  }

  #completeSmall(bytes: Uint8Array): void {
    if (this.#isReleased) return;
    try {
      this.#limits.bodyBudget.takeSmall(bytes.byteLength);
    } catch (error) {
      this.#fail(toError(error));
      return;
    }
    this.#counted = bytes.byteLength;
    this.#complete(bytes);
  }

  #complete(bytes: Uint8Array): void {
    this.#bytes = bytes;
    this.#takeWaiter()?.resolve(undefined);
  }

  #fail(error: Error): void {
    this.#error ??= error;
    this.#takeWaiter()?.reject(this.#error);
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

  /** Throws a GatehouseError if the budget has no room. */
  #count(bytes: number): void {
    this.#limits.bodyBudget.takeLarge(this, bytes);
    this.#counted += bytes;
  }

  #stopReading(chunks: ChunkCollector): void {
    this.#limits.bodyBudget.ended(this);
    chunks.clear();
    this.#reader?.cancel().catch(() => undefined);
  }

  async #readStream(reader: BodyStreamReader, chunks: ChunkCollector, windowBytes: number): Promise<void> {
    const { bodyBudget, maxBodyBytes } = this.#limits;
    let nextProgress = PACE_BYTES;
    try {
      this.#extendDeadline();
      bodyBudget.progressed(this);
      this.#count(windowBytes);
      for (;;) {
        const { done, value } = await reader.read();
        if (this.#isReleased) return;
        if (done || value === undefined) break;
        if (chunks.size + value.byteLength > maxBodyBytes) throw tooLarge(this.#limits);
        this.#count(value.byteLength);
        chunks.add(value);
        if (chunks.size < nextProgress) continue;
        nextProgress = chunks.size + PACE_BYTES;
        this.#extendDeadline();
        bodyBudget.progressed(this);
      }
      bodyBudget.ended(this);
      bodyBudget.release(windowBytes);
      this.#counted -= windowBytes;
      this.#complete(chunks.take());
    } catch (error) {
      this.refuse(toError(error));
    }
  }
}

function tooLarge({ maxBodyBytes, sizeSetting = "MAX_BODY_BYTES" }: BodyLimits): GatehouseError {
  return new GatehouseError(
    "body_too_large",
    `The body is larger than ${maxBodyBytes} bytes (${sizeSetting}).`,
  );
}

/** Closes the connection: its next bytes would be the rest of this body. */
function tooSlow(): GatehouseError {
  const message = `Less than ${PACE_BYTES / 1024} KiB of the body arrived within ${PACE_MS / 1000} seconds.`;
  return new GatehouseError("request_timeout", message, { headers: { Connection: "close" } });
}
