// Reads a request body into memory with limits on its size and on the time between pieces.
import { GatehouseError } from "../base/errors.ts";
import { toError } from "../base/to-error.ts";
import type { CoarseDeadlines, Deadline } from "./coarse-deadlines.ts";

/** Every PACE_BYTES of a body, and its end, must arrive within PACE_MS of the previous ones. */
const PACE_MS = 60_000;
const PACE_BYTES = 64 * 1024;

/** Returns the whole body. Rejects with a GatehouseError if it is too large or arrives too slowly. */
export function readBody(
  request: Request,
  maxBytes: number,
  deadlines: CoarseDeadlines,
): Promise<Uint8Array> {
  return startReadingBody(request, maxBytes, deadlines)?.received() ?? Promise.resolve(new Uint8Array(0));
}

/** Starts to read the body. Returns null if the request has none. */
export function startReadingBody(
  request: Request,
  maxBytes: number,
  deadlines: CoarseDeadlines,
): IncomingBody | null {
  const declared = request.headers.get("content-length");
  const length = declared === null ? null : Number(declared);
  if (length !== null && length > maxBytes) throw tooLarge(maxBytes);
  // Bun enforces the declared length, and `bytes` costs half as much as a stream.
  if (length !== null && length <= PACE_BYTES)
    return length === 0 ? null : new IncomingBody(deadlines, request.bytes());
  return request.body === null ? null : new IncomingBody(deadlines, request.body, maxBytes);
}

interface BodyStreamReader {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
}

/** A body while it arrives. The time limit applies from the call of `received`. */
export class IncomingBody implements Deadline {
  dueAt = Infinity;
  /** Null until the whole body has arrived. */
  bytes: Uint8Array | null = null;
  readonly #deadlines: CoarseDeadlines;
  readonly #reader: BodyStreamReader | null;
  #error: Error | null = null;
  #waiter: PromiseWithResolvers<Uint8Array> | null = null;

  constructor(
    deadlines: CoarseDeadlines,
    source: Promise<Uint8Array> | ReadableStream<Uint8Array>,
    maxBytes = 0,
  ) {
    this.#deadlines = deadlines;
    let whole: Promise<Uint8Array>;
    if (source instanceof Promise) {
      this.#reader = null;
      whole = source;
    } else {
      this.#reader = source.getReader();
      whole = this.#readStream(this.#reader, maxBytes);
    }
    whole.then(
      (bytes) => {
        this.bytes = bytes;
        this.#takeWaiter()?.resolve(bytes);
      },
      (error: unknown) => this.#fail(toError(error)),
    );
  }

  /** Resolves to the whole body. */
  received(): Promise<Uint8Array> {
    if (this.bytes !== null) return Promise.resolve(this.bytes);
    if (this.#error !== null) return Promise.reject(this.#error);
    this.#waiter = Promise.withResolvers<Uint8Array>();
    this.#extendDeadline();
    this.#deadlines.watch(this);
    return this.#waiter.promise;
  }

  expire(): void {
    this.#fail(tooSlow());
    this.#reader?.cancel().catch(() => undefined);
  }

  #extendDeadline(): void {
    this.dueAt = this.#deadlines.clock.now() + PACE_MS;
  }

  #fail(error: Error): void {
    this.#error ??= error;
    this.#takeWaiter()?.reject(this.#error);
  }

  #takeWaiter(): PromiseWithResolvers<Uint8Array> | null {
    const waiter = this.#waiter;
    if (waiter !== null) this.#deadlines.unwatch(this);
    this.#waiter = null;
    return waiter;
  }

  async #readStream(reader: BodyStreamReader, maxBytes: number): Promise<Uint8Array> {
    const chunks: Uint8Array[] = [];
    let size = 0;
    let pacedSize = 0;
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done || value === undefined) break;
        size += value.byteLength;
        if (size > maxBytes) throw tooLarge(maxBytes);
        chunks.push(value);
        if (size - pacedSize < PACE_BYTES) continue;
        pacedSize = size;
        this.#extendDeadline();
      }
    } finally {
      reader.cancel().catch(() => undefined);
    }
    return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, size);
  }
}

function tooLarge(maxBytes: number): GatehouseError {
  return new GatehouseError("body_too_large", `The body is larger than ${maxBytes} bytes (MAX_BODY_BYTES).`);
}

/** Closes the connection: its next bytes would be the rest of this body. */
function tooSlow(): GatehouseError {
  const message = `Less than ${PACE_BYTES / 1024} KiB of the body arrived within ${PACE_MS / 1000} seconds.`;
  return new GatehouseError("request_timeout", message, { headers: { Connection: "close" } });
}
