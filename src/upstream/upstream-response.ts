// A provider's answer while it comes in: its head first, then its body at the pace of whoever reads it, all of it under
// deadlines.
import type { ResponseHead, ResponseHeaders } from "./response-headers.ts";
import { unwatchDeadline, watchDeadline, type Deadline } from "../http/coarse-deadlines.ts";
import type { BodyReader } from "../http/body-reader.ts";
import { UpstreamError } from "./upstream-error.ts";

/** What is held for a reader that is slower than the provider; beyond it the provider has to wait. */
const MAX_HELD_BYTES = 64 * 1024;

/** Where the answer comes from. */
export interface ResponseSource {
  pause(): void;
  resume(): void;
  /** Ends the provider's work: nobody wants the rest. */
  cancel(): void;
}

export class UpstreamResponse implements Deadline, BodyReader {
  dueAt: number;
  status = 0;
  headers!: ResponseHeaders;
  hasBody = false;
  /** Null: nobody waits for the head. */
  #head: PromiseWithResolvers<this> | null = null;
  readonly #firstByteAt: number;
  #idleMs = Infinity;
  #expiresWith: "connect_timeout" | "first_byte_timeout" | "idle_timeout" = "connect_timeout";
  #source: ResponseSource | null = null;
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #isPaused = false;
  #reading: PromiseWithResolvers<Uint8Array | null> | null = null;
  #isEnded = false;
  #fault: UpstreamError | null = null;

  constructor(connectMs: number, firstByteMs: number) {
    const now = performance.now();
    this.#firstByteAt = now + firstByteMs;
    this.dueAt = Math.min(now + connectMs, this.#firstByteAt);
    watchDeadline(this);
  }

  /** Resolves when the head is there; rejects with the UpstreamFault that kept it from coming. */
  get headersReceived(): Promise<this> {
    if (this.#fault !== null) return Promise.reject(this.#fault);
    if (this.status !== 0) return Promise.resolve(this);
    return (this.#head ??= Promise.withResolvers<this>()).promise;
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  /** All of the body, where all of it is there already; null where some is still to come. */
  takeWholeBody(): Uint8Array | null {
    return this.#isEnded ? this.#takeHeld() : null;
  }

  /** How long the provider may be silent from now on while it is waited for. */
  set idleTimeoutMs(milliseconds: number) {
    this.#idleMs = milliseconds;
  }

  /** The next bytes, or null at the end. */
  next(): Promise<Uint8Array | null> {
    if (this.#heldBytes > 0) return Promise.resolve(this.#takeHeld());
    if (this.#fault !== null) return Promise.reject(this.#fault);
    if (this.#isEnded) return Promise.resolve(null);
    this.#reading = Promise.withResolvers<Uint8Array | null>();
    // The clock counts only while the provider is waited for: a client that reads slowly is not its fault.
    this.dueAt = performance.now() + this.#idleMs;
    return this.#reading.promise;
  }

  async peek(): Promise<Uint8Array | null> {
    const [held] = this.#held;
    if (held !== undefined) return held;
    const bytes = await this.next();
    if (bytes === null) return null;
    this.#held.unshift(bytes);
    this.#heldBytes += bytes.byteLength;
    return bytes;
  }

  /** Gives back what was read whole, for whoever reads it next. */
  putBack(body: Uint8Array): void {
    this.#held = [body];
    this.#heldBytes = body.byteLength;
  }

  cancel(): void {
    this.abort(new UpstreamError("client_left"));
  }

  /** Ends it from this side. Whoever waits gets the fault. */
  abort(error: UpstreamError): void {
    if (this.#isEnded || this.#fault !== null) return;
    this.#fail(error);
    this.#source?.cancel();
  }

  expire(): void {
    this.abort(new UpstreamError(this.#expiresWith));
  }

  // What follows is for the connection.

  /** There is no connection yet; `source` is who waits for one. */
  onWaiting(source: ResponseSource): void {
    this.#source = source;
  }

  /** A connection stands, and the request is on its way. */
  onSent(source: ResponseSource): void {
    this.#source = source;
    this.#expiresWith = "first_byte_timeout";
    this.dueAt = this.#firstByteAt;
  }

  onHead({ status, headers, framing }: ResponseHead): void {
    this.status = status;
    this.headers = headers;
    this.hasBody = framing !== 0;
    this.dueAt = Infinity;
    this.#expiresWith = "idle_timeout";
    this.#head?.resolve(this);
    this.#head = null;
  }

  onBody(bytes: Uint8Array): void {
    this.#held.push(bytes);
    this.#heldBytes += bytes.byteLength;
  }

  /** What came at once is all told: whoever reads gets it in one piece, however many chunks it was. */
  onArrived(): void {
    this.#serveReader();
    if (this.#heldBytes < MAX_HELD_BYTES || this.#isPaused) return;
    this.#isPaused = true;
    this.#source?.pause();
  }

  onEnd(): void {
    this.#isEnded = true;
    // The connection is another's from now on.
    this.#source = null;
    unwatchDeadline(this);
    this.#serveReader();
    this.#reading?.resolve(null);
    this.#reading = null;
  }

  onError(error: UpstreamError): void {
    if (!this.#isEnded && this.#fault === null) this.#fail(error);
  }

  #fail(error: UpstreamError): void {
    this.#fault = error;
    unwatchDeadline(this);
    this.#serveReader();
    this.#head?.reject(error);
    this.#reading?.reject(error);
    this.#head = this.#reading = null;
  }

  #serveReader(): void {
    const reading = this.#reading;
    if (reading === null || this.#heldBytes === 0) return;
    this.dueAt = Infinity;
    this.#reading = null;
    reading.resolve(this.#takeHeld());
  }

  #takeHeld(): Uint8Array {
    const [first] = this.#held;
    const all =
      this.#held.length === 1 && first !== undefined ? first : Buffer.concat(this.#held, this.#heldBytes);
    this.#held = [];
    this.#heldBytes = 0;
    if (this.#isPaused) {
      this.#isPaused = false;
      this.#source?.resume();
    }
    return all;
  }
}
