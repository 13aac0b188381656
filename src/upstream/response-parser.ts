// Parses HTTP/1.1 responses from the bytes of a connection, wherever they are split. Interim (1xx) responses are
// skipped. Body bytes are passed on as parts of the received chunks.
import type { HeaderFieldCache } from "./header-field-cache.ts";
import { InvalidResponse, parseResponseHeaders, type ParsedResponseHeaders } from "./response-headers.ts";
import { checkHandshake, type WebSocketHandshake } from "./websocket/handshake.ts";

export interface ResponseEvents {
  onHeaders(parsed: ParsedResponseHeaders): void;
  onBody(bytes: Uint8Array): void;
  onEnd(): void;
}

const MAX_HEADER_BYTES = 64 * 1024;
const MAX_INTERIM_RESPONSES = 32;
/** Limit for a chunk size with its extensions, and for one trailer field. */
const MAX_LINE_BYTES = 8 * 1024;
const MAX_TRAILER_BYTES = 16 * 1024;
const HEADERS_END = Buffer.from("\r\n\r\n");
const CR = 0x0d;
const LF = 0x0a;
const MAX_SIZE_DIGITS = 12;
/** A line without its LF: the size, extensions, and the CR. A line that ends with LF alone is invalid. */
const CHUNK_SIZE = /^([0-9a-fA-F]{1,12})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?\r$/;
const TRAILER = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*\r$/;

type State = "headers" | "body" | "chunk_size" | "chunk" | "chunk_end" | "trailers" | "ended";

/** For each response, call `begin`, then `push` until `isEnded`. Throws InvalidResponse. */
export class ResponseParser {
  readonly #events: ResponseEvents;
  readonly #headerFieldCache: HeaderFieldCache;
  #method = "GET";
  #handshake: WebSocketHandshake | null = null;
  #state: State = "ended";
  /** The start of a header section or line that is not complete yet. */
  #incomplete: Buffer | null = null;
  /** Remaining bytes of the body or the chunk; Infinity if the body ends with the connection. */
  #remaining = 0;
  #interimResponses = 0;
  #trailerBytes = 0;
  /** Whether a byte of this response has been received. */
  hasReceivedBytes = false;

  constructor(events: ResponseEvents, headerFieldCache: HeaderFieldCache) {
    this.#events = events;
    this.#headerFieldCache = headerFieldCache;
  }

  /** `method` of the request: a response to HEAD has no body. `handshake`: the request may switch to the WebSocket protocol. */
  begin(method: string, handshake: WebSocketHandshake | null = null): void {
    this.#method = method;
    this.#handshake = handshake;
    this.#state = "headers";
    this.#incomplete = null;
    this.#interimResponses = 0;
    this.#trailerBytes = 0;
    this.hasReceivedBytes = false;
  }

  get isEnded(): boolean {
    return this.#state === "ended";
  }

  /** Returns whether there were bytes after the end of this response. */
  push(chunk: Buffer): boolean {
    this.hasReceivedBytes = true;
    let at = 0;
    while (at < chunk.length) {
      if (this.#state === "ended") return true;
      at = this.#step(chunk, at);
    }
    return false;
  }

  /** The provider has closed its side of the connection. Returns whether the response is complete. */
  pushEnd(): boolean {
    if (this.#state === "body" && this.#remaining === Infinity) this.#end();
    return this.#state === "ended";
  }

  /** Parses from `at`. Returns where to continue. */
  #step(bytes: Buffer, at: number): number {
    if (this.#state === "headers") return this.#readHeaders(bytes, at);
    if (this.#state === "body" || this.#state === "chunk") return this.#readBody(bytes, at);
    const next = this.#readSimpleLine(bytes, at);
    return next === at ? this.#readLine(bytes, at) : next;
  }

  /**
   * Fast path for the lines around a chunk, of which every event of a stream has two. Nearly all of them are complete
   * and have no extensions, so they are parsed in place. Returns `at` for any other line.
   */
  #readSimpleLine(bytes: Buffer, at: number): number {
    if (this.#incomplete !== null || this.#state === "trailers") return at;
    let size = 0;
    let end = at;
    if (this.#state === "chunk_size") {
      for (; end - at < MAX_SIZE_DIGITS; end++) {
        const digit = hexDigit(bytes[end]);
        if (digit < 0) break;
        size = size * 16 + digit;
      }
      if (end === at) return at;
    }
    if (bytes[end] !== CR || bytes[end + 1] !== LF) return at;
    if (this.#state === "chunk_end") this.#state = "chunk_size";
    else this.#beginChunk(size);
    return end + 2;
  }

  #readLine(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(LF, at);
    const line = this.#completeLine(bytes.subarray(at, end < 0 ? bytes.length : end), end >= 0);
    if (line === null) return bytes.length;
    if (this.#state === "chunk_size") this.#beginChunk(parseChunkSize(line));
    else if (this.#state === "chunk_end") this.#endChunk(line);
    else this.#readTrailer(line);
    return end + 1;
  }

  #readHeaders(bytes: Buffer, at: number): number {
    const before = this.#incomplete;
    const received = at === 0 ? bytes : bytes.subarray(at);
    const all = before === null ? received : Buffer.concat([before, received]);
    const end = all.indexOf(HEADERS_END, before === null ? 0 : Math.max(0, before.length - 3));
    if (end > MAX_HEADER_BYTES || (end < 0 && all.length > MAX_HEADER_BYTES))
      throw new InvalidResponse(`headers larger than ${MAX_HEADER_BYTES} bytes`);
    if (end < 0) {
      this.#incomplete = all;
      return bytes.length;
    }
    this.#incomplete = null;
    const parsed = parseResponseHeaders(all.toString("latin1", 0, end), this.#method, this.#headerFieldCache);
    if (parsed.status >= 200) this.#beginBody(parsed);
    else if (parsed.status === 101) this.#switchProtocol(parsed);
    else if (++this.#interimResponses > MAX_INTERIM_RESPONSES)
      throw new InvalidResponse(`more than ${MAX_INTERIM_RESPONSES} interim responses`);
    return at + end + HEADERS_END.length - (before?.length ?? 0);
  }

  /** All bytes after the headers are frames of the new protocol, passed on as a body. */
  #switchProtocol(parsed: ParsedResponseHeaders): void {
    if (this.#handshake === null) throw new InvalidResponse("101 Switching Protocols without an upgrade");
    checkHandshake(this.#handshake, parsed.headers);
    this.#beginBody({ ...parsed, framing: "until_close", isKeepAlive: false });
  }

  #beginBody(parsed: ParsedResponseHeaders): void {
    const { framing } = parsed;
    this.#remaining = framing === "until_close" ? Infinity : framing === "chunked" ? 0 : framing;
    this.#state = framing === "chunked" ? "chunk_size" : "body";
    this.#events.onHeaders(parsed);
    if (framing === 0) this.#end();
  }

  #readBody(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#remaining);
    this.#remaining -= end - at;
    this.#events.onBody(partOf(bytes, at, end));
    if (this.#remaining === 0) {
      if (this.#state === "chunk") this.#state = "chunk_end";
      else this.#end();
    }
    return end;
  }

  #beginChunk(size: number): void {
    this.#remaining = size;
    this.#state = size === 0 ? "trailers" : "chunk";
  }

  #endChunk(line: string): void {
    if (line !== "\r") throw new InvalidResponse("chunk longer than its size");
    this.#state = "chunk_size";
  }

  #readTrailer(line: string): void {
    this.#trailerBytes += line.length;
    if (this.#trailerBytes > MAX_TRAILER_BYTES)
      throw new InvalidResponse(`trailers larger than ${MAX_TRAILER_BYTES} bytes`);
    if (line === "\r") this.#end();
    else if (!TRAILER.test(line)) throw new InvalidResponse("invalid trailer");
  }

  /** Returns the line that ends with `part`, or null if `part` does not end a line. */
  #completeLine(part: Buffer, isEnd: boolean): string | null {
    const before = this.#incomplete;
    if ((before?.length ?? 0) + part.length > MAX_LINE_BYTES)
      throw new InvalidResponse(`line longer than ${MAX_LINE_BYTES} bytes`);
    const line = before === null ? part : Buffer.concat([before, part]);
    this.#incomplete = isEnd ? null : line;
    return isEnd ? line.toString("latin1") : null;
  }

  #end(): void {
    this.#state = "ended";
    this.#events.onEnd();
  }
}

/** Up to this size, a copy costs less than a view: JavaScriptCore must move a small buffer before it can share it. */
const COPIED_BYTES = 1000;

function partOf(bytes: Buffer, from: number, to: number): Uint8Array {
  if (from === 0 && to === bytes.length) return bytes;
  // Buffer overrides `slice` with a method that makes a view.
  return to - from <= COPIED_BYTES
    ? Uint8Array.prototype.slice.call(bytes, from, to)
    : bytes.subarray(from, to);
}

function parseChunkSize(line: string): number {
  const [, digits] = CHUNK_SIZE.exec(line) ?? [];
  if (digits === undefined) throw new InvalidResponse("invalid chunk size");
  return Number.parseInt(digits, 16);
}

/** Returns the value of a hexadecimal digit, or -1. */
function hexDigit(byte: number | undefined): number {
  if (byte === undefined) return -1;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
