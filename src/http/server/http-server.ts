// An HTTP/1.1 server over TCP sockets. Why not Bun.serve: decision 0029.
import type { SocketHandler } from "bun";
import { GatehouseError } from "../../base/errors.ts";
import type { CoarseDeadlines } from "../coarse-deadlines.ts";
import { newId } from "../../base/ids.ts";
import { fromClients } from "../receive-queue.ts";
import { ClientConnection } from "./client-connection.ts";
import { ClientReceiver } from "./client-receiver.ts";
import type { ConnectionOwner, RequestHandler } from "./connection-owner.ts";
import { OutgoingResponse } from "./outgoing-response.ts";

interface HttpServerOptions {
  readonly hostname: string;
  readonly port: number;
  readonly reusePort: boolean;
  readonly deadlines: CoarseDeadlines;
  readonly handle: RequestHandler;
  /** The bytes of a client were rejected, because they are no request or arrived too slowly. */
  readonly onRefused?: (error: GatehouseError) => void;
  /** An error that should not happen, in the handler or in this server. */
  readonly onError?: (error: unknown, requestId: string) => void;
}

export class HttpServer implements ConnectionOwner {
  readonly hostname: string;
  readonly deadlines: CoarseDeadlines;
  readonly handle: RequestHandler;
  isStopping = false;
  readonly onRefused: (error: GatehouseError) => void;
  readonly #report: (error: unknown, requestId: string) => void;
  readonly #connections = new Set<ClientConnection>();
  readonly #listener: Bun.TCPSocketListener<ClientReceiver | null>;
  #stopped: PromiseWithResolvers<undefined> | null = null;

  constructor({ hostname, port, reusePort, deadlines, handle, onRefused, onError }: HttpServerOptions) {
    this.hostname = hostname;
    this.deadlines = deadlines;
    this.handle = handle;
    this.onRefused = onRefused ?? (() => undefined);
    this.#report = onError ?? (() => undefined);
    const options = { hostname, port, reusePort, data: null, socket: this.#handlers() };
    this.#listener = Bun.listen<ClientReceiver | null>(options);
  }

  get port(): number {
    return this.#listener.port;
  }

  get url(): URL {
    const { hostname } = this.#listener;
    return new URL(`http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${this.port}/`);
  }

  get connectionCount(): number {
    return this.#connections.size;
  }

  onClosed(connection: ClientConnection): void {
    this.#connections.delete(connection);
    if (this.#connections.size === 0) this.#stopped?.resolve(undefined);
  }

  onError(error: unknown): OutgoingResponse {
    const requestId = newId();
    this.#report(error, requestId);
    const message = "Internal error. Search the gateway log for this request_id.";
    return OutgoingResponse.error(new GatehouseError("internal_error", message), requestId);
  }

  /** Accepts no further connections. Resolves when all requests are finished; with `closesAll`, they are aborted. */
  async stop(closesAll = false): Promise<void> {
    this.isStopping = true;
    // The kernel resets connections that it has established and that were not accepted yet.
    if (!closesAll) await new Promise((resolve) => setImmediate(resolve));
    this.#listener.stop(false);
    // A connection whose request has arrived is not idle.
    fromClients.deliver();
    for (const connection of this.#connections) {
      if (closesAll) connection.terminate();
      else connection.closeWhenIdle();
    }
    if (this.#connections.size === 0) return;
    await (this.#stopped ??= Promise.withResolvers<undefined>()).promise;
  }

  #handlers(): SocketHandler<ClientReceiver | null> {
    const report = (error: unknown) => this.#report(error, newId());
    return {
      open: (socket) => {
        // The kernel does not know the address of a client that has reset the connection before it was accepted.
        if ((socket.remoteAddress as string | undefined) === undefined) {
          socket.terminate();
          return;
        }
        const connection = new ClientConnection(socket, this);
        socket.data = new ClientReceiver(connection, report);
        this.#connections.add(connection);
      },
      data: (socket, bytes) => {
        if (socket.data !== null) fromClients.push(socket.data, bytes);
      },
      drain: (socket) => socket.data?.connection.onDrain(),
      close: (socket) => socket.data?.onClose(),
      end: (socket) => socket.data?.onClose(),
      error: (socket, error) => {
        // An exception of a handler above; errors of the kernel have a code.
        if (!("code" in error)) report(error);
        socket.data?.onError();
      },
    };
  }
}
