// One connection to a provider, which carries one request at a time.
import { NOT_A_MEMBER } from "../base/dense-set.ts";
import type { Socket } from "bun";
import { isIP } from "node:net";
import { toError } from "../base/to-error.ts";
import type { CoarseDeadlines, Deadline } from "../http/coarse-deadlines.ts";
import type { HeaderFieldCache } from "../http/header-field-cache.ts";
import type { LineWriter } from "../http/line-writer.ts";
import type { OutgoingRequest } from "./outgoing-request.ts";
import { InvalidMessage } from "../http/invalid-message.ts";
import { SocketSender } from "../http/socket-sender.ts";
import type { ParsedResponseHeaders, StatusLine } from "./response-headers.ts";
import { ResponseParser, type ResponseEvents } from "./response-parser.ts";
import { PLAIN_HANDLERS, TLS_HANDLERS, type ProviderSocket, type SocketEvents } from "./socket-handlers.ts";
import { Upload } from "./upload.ts";
import { UpstreamError } from "./upstream-error.ts";
import type { ResponseSource, UpstreamResponse } from "./upstream-response.ts";
import type { SocketWriter } from "../http/websocket/socket-writer.ts";

export interface ConnectionOwner {
  /** The header fields that responses of this provider repeat. */
  readonly headerFieldCache: HeaderFieldCache<StatusLine>;
  readonly deadlines: CoarseDeadlines;
  /** Called when the connection can carry another request, for at most `idleMs` (null: the server gave no limit). */
  onIdle(connection: Connection, idleMs: number | null): void;
}

/** `Keep-Alive: timeout=5`: for how many seconds the server keeps an idle connection open. */
const KEEP_ALIVE_TIMEOUT = /(?:^|[\s,;])timeout=(\d{1,6})/i;
/** A request sent less than this before the server's own timeout may arrive at a closing connection. */
const IDLE_MARGIN_MS = 1000;
/** Limit for connecting including the TLS handshake, independent of the timeout of the waiting request. */
const OPEN_TIMEOUT_MS = 30_000;

type SentRequest = Pick<OutgoingRequest, "body" | "upload" | "method" | "handshake">;

export class Connection implements Deadline, ResponseEvents, ResponseSource, SocketEvents, SocketWriter {
  dueAt = Infinity;
  queued: Buffer | null = null;
  setPosition = NOT_A_MEMBER;
  readonly #owner: ConnectionOwner;
  readonly #parser: ResponseParser;
  #socket: ProviderSocket | null = null;
  #sender: SocketSender | null = null;
  #response: UpstreamResponse | null = null;
  /** Null if the body of the request was in memory. */
  #upload: Upload | null = null;
  #isKeepAlive = false;
  #idleMs: number | null = null;
  #isPaused = false;
  /** The connection has carried a response before. */
  #isReused = false;
  #opening: PromiseWithResolvers<undefined> | null = null;
  isOpen = true;
  /** Set by the owner: when an idle connection expires. */
  idleUntil = 0;
  onDrained: (() => void) | null = null;

  constructor(owner: ConnectionOwner) {
    this.#owner = owner;
    this.#parser = new ResponseParser(this, owner.headerFieldCache);
  }

  /** Resolves when the connection is established and, for TLS, the certificate is verified. */
  open(address: string, port: number, serverName: string | null): Promise<undefined> {
    const opening = this.#beginOpening();
    const tls = tlsFor(serverName);
    // Failures are also reported to `onConnectError` or `onClose`; the first report counts.
    Bun.connect({
      hostname: address,
      port,
      data: this,
      socket: tls === undefined ? PLAIN_HANDLERS : TLS_HANDLERS,
      ...(tls !== undefined && { tls }),
    }).catch((error: unknown) => this.onConnectError(toError(error)));
    return opening;
  }

  /** Like `open`, over a socket through which a proxy has connected to the provider. */
  openOver(socket: Socket<unknown>, serverName: string | null): Promise<undefined> {
    const opening = this.#beginOpening();
    const tls = tlsFor(serverName);
    if (tls !== undefined) socket.upgradeTLS({ data: this, tls, socket: TLS_HANDLERS });
    else {
      this.onOpen(socket);
      this.onEstablished();
    }
    return opening;
  }

  #beginOpening(): Promise<undefined> {
    const { deadlines } = this.#owner;
    this.dueAt = deadlines.clock.now() + OPEN_TIMEOUT_MS;
    deadlines.watch(this);
    return (this.#opening = Promise.withResolvers<undefined>()).promise;
  }

  /** Sends a request and reports its response to `response`. The connection must be established and idle. */
  send(
    headers: LineWriter | string,
    { body, upload = null, method, handshake }: SentRequest,
    response: UpstreamResponse,
  ): void {
    this.#response = response;
    this.#parser.begin(method, handshake);
    response.onSent(this);
    if (!this.#sendHead(headers, body)) this.#fail(new UpstreamError("broken"));
    else if (upload !== null) (this.#upload = new Upload(upload, this, response)).start();
  }

  #sendHead(headers: LineWriter | string, body: Uint8Array | null): boolean {
    if (this.#sender === null) return false;
    return typeof headers === "string"
      ? this.#sender.sendMessage(headers, body)
      : this.#sender.sendWritten(headers, body);
  }

  /** For a WebSocket, after the handshake, and for a body that is still arriving. */
  write(bytes: Uint8Array): boolean {
    if (this.isOpen && this.#sender?.send(bytes) !== true) this.#fail(new UpstreamError("broken"));
    return this.#sender?.hasUnsent !== true;
  }

  close(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.#upload?.stop();
    this.#socket?.terminate();
  }

  // ResponseSource, for the response

  pause(): void {
    this.#isPaused = true;
    this.#socket?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#socket?.resume();
  }

  cancel(): void {
    this.#response = null;
    this.close();
  }

  get holdsBody(): boolean {
    return this.isOpen && this.#sender?.hasUnsent === true;
  }

  // ResponseEvents, for the parser

  onHeaders(parsed: ParsedResponseHeaders): void {
    // No provider completes a request that it has not received, so this may be a second response to the previous request.
    // Errors pass: a provider may reject a request early, and the connection is closed afterwards.
    if (this.#isReused && this.#isSending && parsed.status < 400)
      throw new InvalidMessage("response to a request that was not sent completely");
    this.#isKeepAlive = parsed.isKeepAlive;
    const keepAlive = parsed.headers.get("keep-alive");
    const seconds = keepAlive === null ? undefined : KEEP_ALIVE_TIMEOUT.exec(keepAlive)?.[1];
    this.#idleMs = seconds === undefined ? null : Math.max(0, Number(seconds) * 1000 - IDLE_MARGIN_MS);
    if (parsed.status === 101) this.#response?.onSwitch(this);
    this.#response?.onHeaders(parsed);
  }

  onBody(bytes: Uint8Array): void {
    this.#response?.onBody(bytes);
  }

  onEnd(): void {
    const response = this.#response;
    this.#response = null;
    response?.onEnd();
  }

  // Called by the socket handlers

  /** The TCP connection is established; for TLS, the handshake follows. */
  onOpen(socket: ProviderSocket): void {
    this.#socket = socket;
    this.#sender = new SocketSender(socket);
    if (!this.isOpen) socket.terminate();
  }

  onEstablished(): void {
    this.#owner.deadlines.unwatch(this);
    this.#opening?.resolve(undefined);
    this.#opening = null;
  }

  expire(): void {
    this.onClose(new Error(`no connection within ${OPEN_TIMEOUT_MS} ms`));
  }

  onConnectError(cause: Error): void {
    this.#owner.deadlines.unwatch(this);
    this.#opening?.reject(new UpstreamError("unreachable", cause));
    this.#opening = null;
  }

  get awaitsResponse(): boolean {
    return this.#response !== null;
  }

  onData(chunk: Buffer): void {
    if (this.#response === null) {
      this.close();
      return;
    }
    try {
      const hasMore = this.#parser.push(chunk);
      this.#response?.onBodyBatch();
      if (this.#parser.isEnded) this.#finish(hasMore);
    } catch (error) {
      if (!(error instanceof InvalidMessage)) throw error;
      this.#fail(new UpstreamError("invalid", error));
    }
  }

  onDataError(error: unknown): void {
    this.onClose(toError(error));
  }

  onDrain(): void {
    if (this.#sender?.drain() === false) this.#fail(new UpstreamError("broken"));
    else if (this.#sender?.hasUnsent !== true) this.onDrained?.();
  }

  /** The provider has closed its side of the connection. */
  onPeerEnd(): void {
    if (this.#response !== null && this.#parser.pushEnd()) this.#isKeepAlive = false;
    this.onClose();
  }

  onClose(cause?: Error): void {
    if (this.#opening !== null) {
      this.onConnectError(cause ?? new Error("closed while connecting"));
      this.close();
      return;
    }
    // Before the first byte of the response, the server may just have closed an idle connection: "broken" can be retried.
    this.#fail(new UpstreamError(this.#parser.hasReceivedBytes ? "cut" : "broken", cause));
  }

  /** Whether a part of the request is not sent yet. */
  get #isSending(): boolean {
    return this.#sender?.hasUnsent === true || this.#upload?.isComplete === false;
  }

  /** The response is complete: returns the connection to its owner, or closes it. */
  #finish(hasMore: boolean): void {
    if (!this.isOpen) return;
    // Bytes after the response, or a response before the whole request was sent: what follows cannot be attributed.
    if (hasMore || !this.#isKeepAlive || this.#isSending || this.#idleMs === 0) {
      this.close();
      return;
    }
    // Reading may be paused for a slow reader, although all of the response has arrived.
    if (this.#isPaused) this.resume();
    this.#isReused = true;
    this.#upload?.stop();
    this.#upload = null;
    this.#owner.onIdle(this, this.#idleMs);
  }

  #fail(error: UpstreamError): void {
    const response = this.#response;
    this.#response = null;
    this.close();
    response?.onError(error);
  }
}

/** An IP address is no server name (RFC 6066, section 3). */
function tlsFor(serverName: string | null): { serverName: string } | true | undefined {
  return serverName === null ? undefined : isIP(serverName) === 0 ? { serverName } : true;
}
