// Reads the requests of a connection from its bytes, wherever they are split. What follows a request waits until `next`.
import { GatehouseError } from "../../base/errors.ts";
import { ChunkedBody, COPIED_BYTES, type ChunkSink } from "../chunked-body.ts";
import { HeaderFieldCache } from "../header-field-cache.ts";
import { InvalidMessage } from "../invalid-message.ts";
import { parseRequestHead, type RequestHead, type RequestLine } from "./request-head.ts";

export interface RequestEvents {
  /** `body`: the whole body, if it arrived together with the headers. */
  onRequest(head: RequestHead, body: Uint8Array | null): void;
  /** Whether the body of the request is wanted now. */
  readonly takesBody: boolean;
  onBody(bytes: Uint8Array): void;
  onBodyEnd(): void;
}

const MAX_HEADER_BYTES = 64 * 1024;
const HEADERS_END = Buffer.from("\r\n\r\n");
const CR = 0x0d;
const LF = 0x0a;
const SPACE = 0x20;
const DEL = 0x7f;

/** What the next bytes belong to. `received`: the request is complete, and the next one may not be read yet. */
type State = "headers" | "body" | "chunks" | "received";

export class RequestReader implements ChunkSink {
  readonly #events: RequestEvents;
  readonly #fieldCache = new HeaderFieldCache<RequestLine>();
  #chunks: ChunkedBody | null = null;
  #state: State = "headers";
  /** The start of a header section, or bytes that may not be read yet. */
  #kept: Buffer | null = null;
  /** Remaining bytes of a body with a length. */
  #remaining = 0;
  /** The rest of the request is read only to find the next one. */
  #isServed = false;

  constructor(events: RequestEvents) {
    this.#events = events;
  }

  /** Whether no byte of a request has been received. */
  get isIdle(): boolean {
    return this.#state === "headers" && this.#kept === null;
  }

  get isReadingHeaders(): boolean {
    return this.#state === "headers";
  }

  /** Whether a header section has begun to arrive. */
  get hasPartOfHeaders(): boolean {
    return this.#state === "headers" && this.#kept !== null;
  }

  /** Bytes that wait. */
  get keptBytes(): number {
    return this.#kept?.length ?? 0;
  }

  /** How many bytes of the body have not arrived; Infinity if that is unknown. */
  get missingBytes(): number {
    if (this.#state === "chunks") return Infinity;
    return this.#state === "body" ? this.#remaining : 0;
  }

  /** Throws InvalidMessage or a GatehouseError. */
  push(bytes: Buffer): void {
    const kept = this.#kept;
    this.#kept = null;
    this.#read(kept === null ? bytes : Buffer.concat([kept, bytes]));
  }

  /** Reads what waits: the body is wanted now. Throws as `push` does. */
  resume(): void {
    const kept = this.#kept;
    this.#kept = null;
    if (kept !== null) this.#read(kept);
  }

  /** Drops the rest of the request, and reads the next one. Throws as `push` does. */
  next(): void {
    this.#isServed = true;
    if (this.#state === "received") this.#state = "headers";
    this.resume();
  }

  /** Drops what waits, and returns it. */
  takeKept(): Buffer | null {
    const kept = this.#kept;
    this.#kept = null;
    return kept;
  }

  // ChunkSink

  /** Copied: the memory of a body is freed if the body is rejected, and the next chunk is in the same memory. */
  onBody(bytes: Uint8Array): void {
    // Smaller ones are no views of a larger body, and asking for their ArrayBuffer would create it.
    const isView = bytes.byteLength > COPIED_BYTES && bytes.byteLength < bytes.buffer.byteLength;
    this.#events.onBody(isView ? new Uint8Array(bytes) : bytes);
  }

  #read(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      const from = at;
      if (this.#state === "headers") at = this.#readHeaders(bytes, at);
      else if (this.#state !== "received" && this.#events.takesBody)
        at = this.#state === "body" ? this.#readBody(bytes, at) : this.#readChunks(bytes, at);
      if (at === from) break;
    }
    if (at < bytes.length) this.#kept = restOf(bytes, at);
  }

  /** Returns where to continue: `from` if the header section is incomplete. */
  #readHeaders(bytes: Buffer, from: number): number {
    let at = from;
    // RFC 9112, section 2.2: empty lines before a request are ignored.
    while (bytes[at] === CR && bytes[at + 1] === LF) at += 2;
    const end = bytes.indexOf(HEADERS_END, at);
    if ((end < 0 ? bytes.length : end) - at > MAX_HEADER_BYTES)
      throw new GatehouseError(
        "headers_too_large",
        `The request line and headers are larger than ${MAX_HEADER_BYTES} bytes.`,
      );
    if (end < 0) {
      rejectOtherProtocols(bytes, at);
      return at;
    }
    const head = parseRequestHead(bytes.toString("latin1", at, end), this.#fieldCache);
    return this.#begin(head, bytes, end + HEADERS_END.length);
  }

  /** Begins a request whose body starts at `at`. Returns where to continue. */
  #begin(head: RequestHead, bytes: Buffer, at: number): number {
    const { framing } = head;
    let next = at;
    let body: Uint8Array | null = null;
    this.#isServed = false;
    if (framing === "chunked") {
      this.#state = "chunks";
      (this.#chunks ??= new ChunkedBody(this)).begin();
    } else if (bytes.length - at >= framing) {
      this.#state = "received";
      next = at + framing;
      if (framing > 0) body = bodyPart(bytes, at, next);
    } else {
      this.#state = "body";
      this.#remaining = framing;
    }
    this.#events.onRequest(head, body);
    return next;
  }

  #readBody(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#remaining);
    this.#remaining -= end - at;
    this.#events.onBody(bodyPart(bytes, at, end));
    if (this.#remaining === 0) this.#endBody();
    return end;
  }

  #readChunks(bytes: Buffer, at: number): number {
    const end = this.#chunks?.push(bytes, at) ?? at;
    if (this.#chunks?.isEnded === true) this.#endBody();
    return end;
  }

  #endBody(): void {
    this.#state = this.#isServed ? "headers" : "received";
    this.#events.onBodyEnd();
  }
}

/**
 * Returns a part of a body, as a Buffer: a plugin that needs one would otherwise create a view. Copied if it is small, or if other
 * requests follow: the body must neither keep nor free their memory.
 */
function bodyPart(bytes: Buffer, from: number, to: number): Buffer {
  if (from === 0 && to === bytes.length) return bytes;
  if (to === bytes.length && to - from > COPIED_BYTES) return bytes.subarray(from, to);
  const part = Buffer.allocUnsafeSlow(to - from);
  bytes.copy(part, 0, from, to);
  return part;
}

/**
 * Returns the bytes from `at` on. Copied if they are a small part of the memory, which could not be freed. A large part is not
 * copied: thousands of requests that arrived together would be copied once per request.
 */
function restOf(bytes: Buffer, at: number): Buffer {
  const rest = bytes.subarray(at);
  return rest.length * 2 < rest.buffer.byteLength ? Buffer.from(rest) : rest;
}

/** Clients of another protocol, such as TLS, and lines that end with LF alone get their response now, not after the timeout. */
function rejectOtherProtocols(bytes: Buffer, at: number): void {
  const first = bytes[at];
  if (first === undefined || (first === CR && at + 1 === bytes.length)) return;
  const end = bytes.indexOf(LF, at);
  if (first <= SPACE || first >= DEL || (end >= 0 && bytes[end - 1] !== CR))
    throw new InvalidMessage("invalid request line");
}
