// Opens connections to providers through the tunnel of a forward proxy (CONNECT, RFC 9110, section 9.3.6), for WebSockets.
import type { Socket } from "bun";
import { toError } from "../base/to-error.ts";
import { Connection, type ConnectionOwner } from "./connection.ts";
import type { ProviderAddress } from "./provider-address.ts";
import { UpstreamError } from "./upstream-error.ts";

const MAX_RESPONSE_BYTES = 16 * 1024;
const HEADERS_END = "\r\n\r\n";
const SUCCESS = /^HTTP\/1\.[01] 2\d\d[ \r]/;

/** The socket to the proxy: first the CONNECT request, then the bytes of the connection to the provider. */
export class Tunnel {
  readonly #connect: string;
  readonly #opening = Promise.withResolvers<Socket<Tunnel>>();
  #socket: Socket<Tunnel> | null = null;
  #received = "";
  #isConnected = false;
  #isClosed = false;
  /** Gets the events of the socket; null before the tunnel is open, and if TLS runs over the socket. */
  #connection: Connection | null = null;

  /** `target` is host and port of the provider. `proxy` may have a user name and a password. */
  constructor(proxy: URL, target: string) {
    const user = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
    const authorization =
      user === ":" ? "" : `Proxy-Authorization: Basic ${Buffer.from(user).toString("base64")}\r\n`;
    this.#connect = `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${authorization}\r\n`;
  }

  /** Resolves to a connection to the provider. Rejects with an UpstreamError. */
  async open(proxy: URL, address: ProviderAddress, owner: ConnectionOwner): Promise<Connection> {
    // Bun cannot run TLS over TLS.
    if (proxy.protocol !== "http:") throw unreachable("the proxy for WebSockets must have an http URL");
    const port = proxy.port === "" ? 80 : Number(proxy.port);
    const hostname = proxy.hostname.replace(/^\[|\]$/g, "");
    Bun.connect<Tunnel>({ hostname, port, data: this, socket: HANDLERS }).catch((error: unknown) =>
      this.fail(toError(error).message),
    );
    const socket = await this.#opening.promise;
    const connection = new Connection(owner);
    if (!address.isSecure) this.#connection = connection;
    await connection.openOver(socket, address.isSecure ? address.hostname : null);
    return connection;
  }

  close(): void {
    this.#isClosed = true;
    this.#socket?.terminate();
  }

  // Called by the socket handlers

  onOpen(socket: Socket<Tunnel>): void {
    this.#socket = socket;
    if (this.#isClosed) socket.terminate();
    else socket.write(this.#connect);
  }

  onData(socket: Socket<Tunnel>, chunk: Buffer): void {
    this.#connection?.onData(chunk);
    if (this.#isConnected) return;
    this.#received += chunk.toString("latin1");
    const end = this.#received.indexOf(HEADERS_END);
    if (end < 0 && this.#received.length <= MAX_RESPONSE_BYTES) return;
    if (!SUCCESS.test(this.#received)) this.fail(`the proxy responded "${this.#received.slice(0, 40)}"`);
    // A provider sends nothing before it has received a request.
    else if (end !== this.#received.length - HEADERS_END.length)
      this.fail("bytes after the response to CONNECT");
    else {
      this.#isConnected = true;
      this.#opening.resolve(socket);
    }
  }

  onDrain(): void {
    this.#connection?.onDrain();
  }

  onEnd(): void {
    this.#connection?.onPeerEnd();
    this.fail("the proxy closed the connection");
  }

  onClose(): void {
    this.#connection?.onClose();
    this.fail("the proxy closed the connection");
  }

  fail(reason: string): void {
    if (!this.#isConnected) this.close();
    this.#opening.reject(unreachable(reason));
  }
}

const HANDLERS = {
  open: (socket: Socket<Tunnel>) => socket.data.onOpen(socket),
  data: (socket: Socket<Tunnel>, chunk: Buffer) => socket.data.onData(socket, chunk),
  drain: (socket: Socket<Tunnel>) => socket.data.onDrain(),
  end: (socket: Socket<Tunnel>) => socket.data.onEnd(),
  close: (socket: Socket<Tunnel>) => socket.data.onClose(),
  error: (socket: Socket<Tunnel>) => socket.data.onClose(),
  connectError: (socket: Socket<Tunnel>, error: Error) => socket.data.fail(error.message),
};

function unreachable(reason: string): UpstreamError {
  return new UpstreamError("unreachable", new Error(reason));
}
