// Parses HTTP/1.1 responses from the bytes of a connection, wherever they are split. Interim (1xx) responses are
// skipped. Body bytes are passed on as parts of the received chunks.
import { ChunkedBody, partOf } from "../http/chunked-body.ts";
import type { HeaderFieldCache } from "../http/header-field-cache.ts";
import { InvalidMessage } from "../http/invalid-message.ts";
import { parseResponseHeaders, type ParsedResponseHeaders, type StatusLine } from "./response-headers.ts";
import { checkHandshake, type WebSocketHandshake } from "./websocket/handshake.ts";

export interface ResponseEvents {
  onHeaders(parsed: ParsedResponseHeaders): void;
  onBody(bytes: Uint8Array): void;
  onEnd(): void;
}

const MAX_HEADER_BYTES = 64 * 1024;
const MAX_INTERIM_RESPONSES = 32;
const HEADERS_END = Buffer.from("\r\n\r\n");

type State = "headers" | "body" | "chunks" | "ended";

/** For each response, call `begin`, then `push` until `isEnded`. Throws InvalidMessage. */
export class ResponseParser {
  readonly #events: ResponseEvents;
  readonly #headerFieldCache: HeaderFieldCache<StatusLine>;
  readonly #chunks: ChunkedBody;
  #method = "GET";
  #handshake: WebSocketHandshake | null = null;
  #state: State = "ended";
  /** The start of a header section that is not complete yet. */
  #incomplete: Buffer | null = null;
  /** Remaining bytes of the body; Infinity if it ends with the connection. */
  #remaining = 0;
  #interimResponses = 0;
  /** Whether a byte of this response has been received. */
  hasReceivedBytes = false;

  constructor(events: ResponseEvents, headerFieldCache: HeaderFieldCache<StatusLine>) {
    this.#events = events;
    this.#headerFieldCache = headerFieldCache;
    this.#chunks = new ChunkedBody(events);
  }

  /** `method` of the request: a response to HEAD has no body. `handshake`: the request may switch to the WebSocket protocol. */
  begin(method: string, handshake: WebSocketHandshake | null = null): void {
    this.#method = method;
    this.#handshake = handshake;
    this.#state = "headers";
    this.#incomplete = null;
    this.#interimResponses = 0;
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
    return this.#state === "chunks" ? this.#readChunks(bytes, at) : this.#readBody(bytes, at);
  }

  #readHeaders(bytes: Buffer, at: number): number {
    const before = this.#incomplete;
    const received = at === 0 ? bytes : bytes.subarray(at);
    const all = before === null ? received : Buffer.concat([before, received]);
    const end = all.indexOf(HEADERS_END, before === null ? 0 : Math.max(0, before.length - 3));
    if (end > MAX_HEADER_BYTES || (end < 0 && all.length > MAX_HEADER_BYTES))
      throw new InvalidMessage(`headers larger than ${MAX_HEADER_BYTES} bytes`);
    if (end < 0) {
      this.#incomplete = all;
      return bytes.length;
    }
    this.#incomplete = null;
    const parsed = parseResponseHeaders(all.toString("latin1", 0, end), this.#method, this.#headerFieldCache);
    if (parsed.status >= 200) this.#beginBody(parsed);
    else if (parsed.status === 101) this.#switchProtocol(parsed);
    else if (++this.#interimResponses > MAX_INTERIM_RESPONSES)
      throw new InvalidMessage(`more than ${MAX_INTERIM_RESPONSES} interim responses`);
    return at + end + HEADERS_END.length - (before?.length ?? 0);
  }

  /** All bytes after the headers are frames of the new protocol, passed on as a body. */
  #switchProtocol(parsed: ParsedResponseHeaders): void {
    if (this.#handshake === null) throw new InvalidMessage("101 Switching Protocols without an upgrade");
    checkHandshake(this.#handshake, parsed.headers);
    this.#beginBody({ ...parsed, framing: "until_close", isKeepAlive: false });
  }

  #beginBody(parsed: ParsedResponseHeaders): void {
    const { framing } = parsed;
    if (framing === "chunked") {
      this.#state = "chunks";
      this.#chunks.begin();
    } else {
      this.#state = "body";
      this.#remaining = framing === "until_close" ? Infinity : framing;
    }
    this.#events.onHeaders(parsed);
    if (framing === 0) this.#end();
  }

  #readBody(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#remaining);
    this.#remaining -= end - at;
    this.#events.onBody(partOf(bytes, at, end));
    if (this.#remaining === 0) this.#end();
    return end;
  }

  #readChunks(bytes: Buffer, at: number): number {
    const end = this.#chunks.push(bytes, at);
    if (this.#chunks.isEnded) this.#end();
    return end;
  }

  #end(): void {
    this.#state = "ended";
    this.#events.onEnd();
  }
}
