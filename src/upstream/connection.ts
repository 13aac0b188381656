// One connection to a provider, over which requests go one after the other.
import type { Socket, SocketHandler } from "bun";
import { isIP } from "node:net";
import { MalformedResponse, type ResponseHead } from "./response-headers.ts";
import { ResponseParser, type ResponseEvents } from "./response-parser.ts";
import { unwatchDeadline, watchDeadline, type Deadline } from "../http/coarse-deadlines.ts";
import type { ResponseSource, UpstreamResponse } from "./upstream-response.ts";
import type { HeaderFieldCache } from "./header-field-cache.ts";
import { UpstreamError } from "./upstream-error.ts";

/** What a connection tells whoever keeps it. */
export interface ConnectionOwner {
  /** What the answers of this provider have in common. */
  readonly headerFieldCache: HeaderFieldCache;
  /** It can carry another request, for at most `idleMs` (null: as long as one likes). */
  onIdle(connection: Connection, idleMs: number | null): void;
}

/** `Keep-Alive: timeout=5`: how long the server keeps an idle connection. */
const KEEP_ALIVE_TIMEOUT = /(?:^|[\s,;])timeout=(\d{1,6})/i;
/** Sent later than this before the server's own timeout, a request may meet a closing connection. */
const IDLE_MARGIN_MS = 1000;
/** Up to this much, head and body go out in one piece: copying costs less than another call to the system. */
const SHEET_BYTES = 64 * 1024;
/** What they are written on. The system takes a copy before anybody else can write. */
const sheet = Buffer.allocUnsafeSlow(SHEET_BYTES);

/** A handshake that is not done by then is given up, whoever waits for it. */
const OPEN_MS = 30_000;

export class Connection implements ResponseEvents, ResponseSource, Deadline {
  dueAt = Infinity;
  readonly #owner: ConnectionOwner;
  readonly #parser: ResponseParser;
  #socket: Socket<Connection> | null = null;
  #answer: UpstreamResponse | null = null;
  /** Of the request under way, what the system's buffer had no room for. */
  #unsent: Uint8Array | null = null;
  #keepsAlive = false;
  #idleMs: number | null = null;
  #isPaused = false;
  #opening: PromiseWithResolvers<undefined> | null = null;
  isOpen = true;
  /** Its owner's note: when it is no longer kept, while it carries nothing. */
  idleUntil = 0;

  constructor(owner: ConnectionOwner) {
    this.#owner = owner;
    this.#parser = new ResponseParser(this, owner.headerFieldCache);
  }

  /** Resolves when the connection stands, its certificate checked where it has one. */
  open(address: string, port: number, serverName: string | null): Promise<undefined> {
    const opening = (this.#opening = Promise.withResolvers<undefined>());
    this.dueAt = performance.now() + OPEN_MS;
    watchDeadline(this);
    const tls = serverName === null ? undefined : isIP(serverName) === 0 ? { serverName } : true;
    // A failure is told to `onConnectError` or `onClose`, with its reason.
    Bun.connect({
      hostname: address,
      port,
      data: this,
      socket: tls === undefined ? PLAIN : SECURE,
      ...(tls !== undefined && { tls }),
    }).catch((error: unknown) => this.onConnectError(error as Error));
    return opening.promise;
  }

  /** Sends a request; its answer is told to `answer`. Only on a connection that stands and carries no other. */
  send(head: string, body: Uint8Array | null, method: string, answer: UpstreamResponse): void {
    this.#answer = answer;
    this.#parser.begin(method);
    answer.onSent(this);
    const length = head.length + (body?.byteLength ?? 0);
    if (length > SHEET_BYTES) {
      this.#write(Buffer.from(head, "latin1"));
      if (this.isOpen && body !== null) this.#write(body);
      return;
    }
    sheet.write(head, 0, "latin1");
    if (body !== null) sheet.set(body, head.length);
    const written = this.#socket?.write(sheet, 0, length) ?? -1;
    if (written < 0) this.#lose(new UpstreamError("broken"));
    // The next request will be written over it: what is still to be sent is kept apart.
    else if (written < length) this.#unsent = Buffer.from(sheet.subarray(written, length));
  }

  close(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.#socket?.terminate();
  }

  pause(): void {
    this.#isPaused = true;
    this.#socket?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#socket?.resume();
  }

  cancel(): void {
    this.#answer = null;
    this.close();
  }

  onHead(head: ResponseHead): void {
    this.#keepsAlive = head.keepsAlive;
    const hint = head.headers.get("keep-alive");
    const seconds = hint === null ? null : KEEP_ALIVE_TIMEOUT.exec(hint)?.[1];
    this.#idleMs =
      seconds === undefined || seconds === null ? null : Math.max(0, Number(seconds) * 1000 - IDLE_MARGIN_MS);
    this.#answer?.onHead(head);
  }

  onBody(bytes: Uint8Array): void {
    this.#answer?.onBody(bytes);
  }

  onEnd(): void {
    const answer = this.#answer;
    this.#answer = null;
    answer?.onEnd();
  }

  // What follows is for the socket.

  /** Connected; with TLS the handshake is still to come. */
  onOpen(socket: Socket<Connection>): void {
    this.#socket = socket;
    if (!this.isOpen) socket.terminate();
  }

  onReady(): void {
    unwatchDeadline(this);
    this.#opening?.resolve(undefined);
    this.#opening = null;
  }

  expire(): void {
    this.onClose(new Error("it took too long to connect"));
  }

  onConnectError(cause: Error): void {
    unwatchDeadline(this);
    this.#opening?.reject(new UpstreamError("unreachable", cause));
    this.#opening = null;
  }

  onData(chunk: Buffer): void {
    // An answer that nobody asked for must not become that of the next request.
    if (this.#answer === null) {
      this.close();
      return;
    }
    try {
      const isMore = this.#parser.feed(chunk);
      this.#answer?.onArrived();
      if (this.#parser.isEnded) this.#settle(isMore);
    } catch (error) {
      if (!(error instanceof MalformedResponse)) throw error;
      this.#lose(new UpstreamError("invalid", error));
    }
  }

  onDrain(): void {
    const rest = this.#unsent;
    this.#unsent = null;
    if (rest !== null) this.#write(rest);
  }

  /** The provider has said its last byte. */
  onPeerEnd(): void {
    if (this.#answer !== null && this.#parser.feedEnd()) this.#keepsAlive = false;
    this.onClose();
  }

  onClose(cause?: Error): void {
    if (this.#opening !== null) {
      this.onConnectError(cause ?? new Error("closed while connecting"));
      this.close();
      return;
    }
    // An answer that began has to come to its end; before its first byte it may have been the connection's age.
    this.#lose(new UpstreamError(this.#parser.hasBegun ? "cut" : "broken", cause));
  }

  #write(bytes: Uint8Array): void {
    if (this.#unsent !== null) {
      this.#unsent = Buffer.concat([this.#unsent, bytes]);
      return;
    }
    const written = this.#socket?.write(bytes) ?? -1;
    if (written < 0) this.#lose(new UpstreamError("broken"));
    else if (written < bytes.byteLength) this.#unsent = bytes.subarray(written);
  }

  /** The answer is whole: the connection is free again, or of no further use. */
  #settle(isMore: boolean): void {
    if (!this.isOpen) return;
    // More than was announced, or an answer before the request was all sent: nobody knows what would come next.
    if (isMore || !this.#keepsAlive || this.#unsent !== null || this.#idleMs === 0) {
      this.close();
      return;
    }
    // What it held back for a slow reader is all there now.
    if (this.#isPaused) this.resume();
    this.#owner.onIdle(this, this.#idleMs);
  }

  #lose(error: UpstreamError): void {
    const answer = this.#answer;
    this.#answer = null;
    this.close();
    answer?.onError(error);
  }
}

/** One set of handlers for all connections; each finds its own in `socket.data`. */
const HANDLERS: SocketHandler<Connection> = {
  data: (socket, chunk) => socket.data.onData(chunk),
  drain: (socket) => socket.data.onDrain(),
  end: (socket) => socket.data.onPeerEnd(),
  close: (socket, error) => socket.data.onClose(error),
  error: (socket, error) => socket.data.onClose(error),
  connectError: (socket, error) => socket.data.onConnectError(error),
};

const PLAIN: SocketHandler<Connection> = {
  ...HANDLERS,
  open: (socket) => {
    socket.data.onOpen(socket);
    socket.data.onReady();
  },
};

const SECURE: SocketHandler<Connection> = {
  ...HANDLERS,
  open: (socket) => socket.data.onOpen(socket),
  handshake: (socket, isTrusted, error) => {
    if (isTrusted) socket.data.onReady();
    else socket.data.onClose(error ?? new Error("its certificate is not trusted"));
  },
};
