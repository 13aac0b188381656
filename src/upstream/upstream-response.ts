// A provider's response while it arrives: first its headers, then its body at the reader's pace, both under timeouts.
import { NOT_A_MEMBER } from "../base/dense-set.ts";
import type { BodyReader } from "../http/body-reader.ts";
import type { CoarseDeadlines, Deadline } from "../http/coarse-deadlines.ts";
import type { AddedHeaders } from "./request-credential.ts";
import type { HeaderFields } from "../http/header-fields.ts";
import type { ParsedResponseHeaders } from "./response-headers.ts";
import { UpstreamError } from "./upstream-error.ts";
import type { SocketWriter } from "../http/websocket/socket-writer.ts";

/** Bytes buffered for a reader that is slower than the provider. When there are more, the connection is paused. */
const MAX_BUFFERED_BYTES = 64 * 1024;
const NO_BYTES = new Uint8Array(0);

/** The connection, or the request that waits for one. */
export interface ResponseSource {
  pause(): void;
  resume(): void;
  /** Stops the provider: the rest of the response is not needed. */
  cancel(): void;
  /** Whether the body of the request may still be read. */
  readonly holdsBody: boolean;
}

export class UpstreamResponse implements Deadline, BodyReader {
  dueAt: number;
  setPosition = NOT_A_MEMBER;
  /** 0 until the headers have arrived. */
  status = 0;
  /** Only valid after the headers have arrived. */
  headers!: HeaderFields;
  hasBody = false;
  /** How long the request waited for a connection; 0 if one was idle. */
  queueMs = 0;
  /** What a computed or fetched credential added to the request; null if there is none. */
  credentialHeaders: AddedHeaders | null = null;
  /** Sends to the provider after the handshake of a WebSocket; null for every other response. */
  writer: SocketWriter | null = null;
  /** Null if no caller waits for the headers. */
  #headersWaiter: PromiseWithResolvers<this> | null = null;
  readonly #deadlines: CoarseDeadlines;
  readonly #firstByteTimeoutMs: number;
  #firstByteDueAt: number;
  #idleTimeoutMs = Infinity;
  #timeoutKind: "connect_timeout" | "first_byte_timeout" | "idle_timeout" = "connect_timeout";
  #source: ResponseSource | null = null;
  /** Whether the body of the request was still being sent when the response ended. */
  #heldBodyAtEnd = true;
  /** The first piece of the body that waits for the reader, and the others; null if there is none. Most bodies arrive as one piece. */
  #firstBuffered: Uint8Array | null = null;
  #moreBuffered: Uint8Array[] | null = null;
  #bufferedBytes = 0;
  #isPaused = false;
  #pendingRead: PromiseWithResolvers<Uint8Array | null> | null = null;
  #isEnded = false;
  #error: UpstreamError | null = null;

  constructor(deadlines: CoarseDeadlines, now: number, connectTimeoutMs: number, firstByteTimeoutMs: number) {
    this.#deadlines = deadlines;
    this.#firstByteTimeoutMs = firstByteTimeoutMs;
    this.#firstByteDueAt = now + firstByteTimeoutMs;
    this.dueAt = Math.min(now + connectTimeoutMs, this.#firstByteDueAt);
    deadlines.watch(this);
  }

  /** Resolves when the headers have arrived. Rejects with an UpstreamError. */
  get headersReceived(): Promise<this> {
    if (this.#error !== null) return Promise.reject(this.#error);
    if (this.status !== 0) return Promise.resolve(this);
    return (this.#headersWaiter ??= Promise.withResolvers<this>()).promise;
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  /** Returns the whole body if all of it has arrived, else null. */
  takeWholeBody(): Uint8Array | null {
    return this.#isEnded ? this.#takeBuffered() : null;
  }

  /** How long each following read may wait for the provider. */
  set idleTimeoutMs(milliseconds: number) {
    this.#idleTimeoutMs = milliseconds;
  }

  next(): Promise<Uint8Array | null> {
    if (this.#bufferedBytes > 0) return Promise.resolve(this.#takeBuffered());
    if (this.#error !== null) return Promise.reject(this.#error);
    if (this.#isEnded) return Promise.resolve(null);
    this.#pendingRead = Promise.withResolvers<Uint8Array | null>();
    // The timeout runs only during a read: a client that reads slowly is not an idle provider.
    this.dueAt = this.#deadlines.clock.now() + this.#idleTimeoutMs;
    return this.#pendingRead.promise;
  }

  async peek(): Promise<Uint8Array | null> {
    if (this.#firstBuffered !== null) return this.#firstBuffered;
    const bytes = await this.next();
    if (bytes === null) return null;
    // More may have arrived meanwhile.
    if (this.#firstBuffered !== null) (this.#moreBuffered ??= []).unshift(this.#firstBuffered);
    this.#firstBuffered = bytes;
    this.#bufferedBytes += bytes.byteLength;
    return bytes;
  }

  /** Puts a body back that has been read to the end, for the next reader. */
  putBack(body: Uint8Array): void {
    this.#firstBuffered = body;
    this.#moreBuffered = null;
    this.#bufferedBytes = body.byteLength;
  }

  cancel(): void {
    this.abort(new UpstreamError("client_left"));
  }

  /** Stops the provider. Pending calls reject with `error`. */
  abort(error: UpstreamError): void {
    if (this.#isEnded || this.#error !== null) return;
    this.#fail(error);
    this.#source?.cancel();
  }

  expire(): void {
    this.abort(new UpstreamError(this.#timeoutKind));
  }

  /** Stops the timeouts until `restartTimeouts`: the request waits for its credential, which has a timeout of its own. */
  suspendTimeouts(): void {
    this.dueAt = Infinity;
  }

  restartTimeouts(now: number, connectTimeoutMs: number, firstByteTimeoutMs: number): void {
    this.#firstByteDueAt = now + firstByteTimeoutMs;
    this.dueAt = Math.min(now + connectTimeoutMs, this.#firstByteDueAt);
  }

  /** Whether the body of the request may still be read. */
  get holdsBody(): boolean {
    return this.#source === null ? this.#heldBodyAtEnd : this.#source.holdsBody;
  }

  /** Whether a connection was found for the request: the provider may have received it. */
  get wasSent(): boolean {
    return this.#timeoutKind !== "connect_timeout";
  }

  /** Whether the request failed or was aborted. */
  get hasFailed(): boolean {
    return this.#error !== null;
  }

  // Called by the connection

  /** There is no connection yet; `source` is the waiting request. */
  onWaiting(source: ResponseSource): void {
    this.#source = source;
  }

  /** The request is sent over an established connection. */
  onSent(source: ResponseSource): void {
    this.#source = source;
    this.#timeoutKind = "first_byte_timeout";
    this.dueAt = this.#firstByteDueAt;
  }

  /** The provider has all of the body that has arrived, so that the client is the one to wait for. */
  onWaitingForClient(): void {
    if (this.status === 0) this.dueAt = Infinity;
  }

  /** The provider has to take bytes of the body, or to respond. */
  onWaitingForProvider(): void {
    if (this.status === 0) this.dueAt = this.#deadlines.clock.now() + this.#firstByteTimeoutMs;
  }

  /** The provider switches to the WebSocket protocol. Call before `onHeaders`. */
  onSwitch(writer: SocketWriter): void {
    this.writer = writer;
  }

  onHeaders({ status, headers, framing }: ParsedResponseHeaders): void {
    this.status = status;
    this.headers = headers;
    this.hasBody = framing !== 0;
    this.dueAt = Infinity;
    this.#timeoutKind = "idle_timeout";
    this.#headersWaiter?.resolve(this);
    this.#headersWaiter = null;
  }

  onBody(bytes: Uint8Array): void {
    if (this.#firstBuffered === null) this.#firstBuffered = bytes;
    else (this.#moreBuffered ??= []).push(bytes);
    this.#bufferedBytes += bytes.byteLength;
  }

  /** All body parts of one network read were passed to `onBody`. The reader gets them as one piece. */
  onBodyBatch(): void {
    this.#resolvePendingRead();
    if (this.#bufferedBytes < MAX_BUFFERED_BYTES || this.#isPaused) return;
    this.#isPaused = true;
    this.#source?.pause();
  }

  onEnd(): void {
    this.#isEnded = true;
    this.#heldBodyAtEnd = this.holdsBody;
    // From now on the connection may serve another request.
    this.#source = null;
    this.#deadlines.unwatch(this);
    this.#resolvePendingRead();
    this.#pendingRead?.resolve(null);
    this.#pendingRead = null;
  }

  onError(error: UpstreamError): void {
    if (!this.#isEnded && this.#error === null) this.#fail(error);
  }

  #fail(error: UpstreamError): void {
    this.#error = error;
    this.#deadlines.unwatch(this);
    this.#resolvePendingRead();
    this.#headersWaiter?.reject(error);
    this.#pendingRead?.reject(error);
    this.#headersWaiter = this.#pendingRead = null;
  }

  #resolvePendingRead(): void {
    const pendingRead = this.#pendingRead;
    if (pendingRead === null || this.#bufferedBytes === 0) return;
    this.dueAt = Infinity;
    this.#pendingRead = null;
    pendingRead.resolve(this.#takeBuffered());
  }

  #takeBuffered(): Uint8Array {
    const first = this.#firstBuffered ?? NO_BYTES;
    const more = this.#moreBuffered;
    this.#firstBuffered = null;
    this.#moreBuffered = null;
    this.#bufferedBytes = 0;
    if (this.#isPaused) {
      this.#isPaused = false;
      this.#source?.resume();
    }
    return more === null ? first : Buffer.concat([first, ...more]);
  }
}
