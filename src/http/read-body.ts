// Reads a request body into memory, bounded in size and in time, whether its length was declared or not.
import { unwatchDeadline, watchDeadline, type Deadline } from "./coarse-deadlines.ts";
import { GatehouseError } from "../base/errors.ts";

/** Every PACE_BYTES of a body, and its end, must come within PACE_MS of the ones before. */
const PACE_MS = 60_000;
const PACE_BYTES = 64 * 1024;

/** All of the body; a GatehouseError where it is too large or too slow. */
export function readBody(request: Request, maxBytes: number, paceMs = PACE_MS): Promise<Uint8Array> {
  return startReadingBody(request, maxBytes, paceMs)?.received() ?? Promise.resolve(new Uint8Array(0));
}

/** Begins to read the body; null where there is none. */
export function startReadingBody(request: Request, maxBytes: number, paceMs = PACE_MS): IncomingBody | null {
  const declared = request.headers.get("content-length");
  const length = declared === null ? null : Number(declared);
  if (length !== null && length > maxBytes) throw tooLarge(maxBytes);
  // The runtime holds a sender to the length it declared, and reads it at half the cost of a stream.
  if (length !== null && length <= PACE_BYTES)
    return length === 0 ? null : new IncomingBody(paceMs, request.bytes());
  return request.body === null ? null : new IncomingBody(paceMs, request.body, maxBytes);
}

interface BodyStreamReader {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
}

/** A body while it comes in. Whoever begins to wait for it gives each further piece its time. */
export class IncomingBody implements Deadline {
  dueAt = Infinity;
  /** Null until all of it is there. */
  bytes: Uint8Array | null = null;
  readonly #paceMs: number;
  readonly #reader: BodyStreamReader | null;
  #fault: Error | null = null;
  #waiting: PromiseWithResolvers<Uint8Array> | null = null;

  constructor(paceMs: number, source: Promise<Uint8Array> | ReadableStream<Uint8Array>, maxBytes = 0) {
    this.#paceMs = paceMs;
    this.#reader = source instanceof Promise ? null : source.getReader();
    (source instanceof Promise ? source : this.#readChunks(maxBytes)).then(
      (bytes) => {
        this.bytes = bytes;
        this.#settled()?.resolve(bytes);
      },
      (error: unknown) => this.#fail(error as Error),
    );
  }

  received(): Promise<Uint8Array> {
    if (this.bytes !== null) return Promise.resolve(this.bytes);
    if (this.#fault !== null) return Promise.reject(this.#fault);
    this.#waiting = Promise.withResolvers<Uint8Array>();
    this.#renew();
    watchDeadline(this);
    return this.#waiting.promise;
  }

  expire(): void {
    this.#fail(tooSlow());
    this.#reader?.cancel().catch(() => undefined);
  }

  #renew(): void {
    this.dueAt = performance.now() + this.#paceMs;
  }

  #fail(error: Error): void {
    this.#fault ??= error;
    this.#settled()?.reject(this.#fault);
  }

  /** Whoever waits, if anyone still does. */
  #settled(): PromiseWithResolvers<Uint8Array> | null {
    const waiting = this.#waiting;
    if (waiting !== null) unwatchDeadline(this);
    this.#waiting = null;
    return waiting;
  }

  async #readChunks(maxBytes: number): Promise<Uint8Array> {
    const reader = this.#reader as BodyStreamReader;
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
        this.#renew();
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

/** What else might come on this connection would be the rest of this body. */
function tooSlow(): GatehouseError {
  return new GatehouseError("request_timeout", "The body stopped coming, or came too slowly.", {
    headers: { Connection: "close" },
  });
}
