// An HTTP/1.1 server over TCP sockets. Why not Bun.serve: decision 0007.
import type { SocketHandler } from "bun";
import type { CoarseDeadlines } from "../coarse-deadlines.ts";
import { ClientConnection, type ConnectionOwner, type RequestHandler } from "./client-connection.ts";

interface HttpServerOptions {
  readonly hostname: string;
  readonly port: number;
  readonly reusePort: boolean;
  readonly deadlines: CoarseDeadlines;
  readonly handle: RequestHandler;
}

export class HttpServer implements ConnectionOwner {
  readonly deadlines: CoarseDeadlines;
  readonly handle: RequestHandler;
  isStopping = false;
  readonly #connections = new Set<ClientConnection>();
  readonly #listener: Bun.TCPSocketListener<ClientConnection | null>;
  #stopped: PromiseWithResolvers<undefined> | null = null;

  constructor({ hostname, port, reusePort, deadlines, handle }: HttpServerOptions) {
    this.deadlines = deadlines;
    this.handle = handle;
    const options = { hostname, port, reusePort, data: null, socket: this.#handlers() };
    this.#listener = Bun.listen<ClientConnection | null>(options);
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

  /** Accepts no further connections. Resolves when all requests are finished; with `closesAll`, they are aborted. */
  async stop(closesAll = false): Promise<void> {
    this.isStopping = true;
    this.#listener.stop(false);
    for (const connection of this.#connections) {
      if (closesAll) connection.terminate();
      else connection.closeWhenIdle();
    }
    if (this.#connections.size === 0) return;
    await (this.#stopped ??= Promise.withResolvers<undefined>()).promise;
  }

  #handlers(): SocketHandler<ClientConnection | null> {
    return {
      open: (socket) => {
        const connection = new ClientConnection(socket, this);
        socket.data = connection;
        this.#connections.add(connection);
      },
      data: (socket, bytes) => socket.data?.onData(bytes),
      drain: (socket) => socket.data?.onDrain(),
      close: (socket) => socket.data?.onClose(),
      end: (socket) => socket.data?.onClose(),
      error: (socket) => socket.data?.terminate(),
    };
  }
}
