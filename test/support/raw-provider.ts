// A provider on the TCP level: a script reads requests and writes any bytes at any time.
import type { Socket } from "bun";
import { connectionsTo } from "./balancing-fixtures.ts";
import { waitUntil } from "./waiting.ts";

/** One connection, for a script. */
export interface ProviderConnection {
  /** Number of the connection, from 1. */
  readonly serial: number;
  /** Resolves to the next complete request. Never resolves if there is none. */
  request(): Promise<string>;
  /** Resolves when the headers of the next request have arrived; its body may still be missing. */
  headers(): Promise<void>;
  /** Resolves to true when the kernel has accepted all bytes, to false if the gateway has closed the connection. */
  write(bytes: string | Uint8Array): Promise<boolean>;
  /** Stops reading, so that the gateway cannot send the rest of a large request. */
  pause(): void;
  end(): void;
  reset(): void;
  readonly isClosed: boolean;
  readonly closed: Promise<void>;
}

export type ConnectionScript = (connection: ProviderConnection) => Promise<void>;

interface RawProvider {
  readonly port: number;
  readonly url: string;
  /** Sets the script for new connections. Drops open connections, and waits until the gateway has noticed. */
  behave(script: ConnectionScript): Promise<void>;
  readonly connections: number;
  open(): number;
  stop(): void;
}

class SocketConnection implements ProviderConnection {
  isClosed = false;
  readonly #closed = Promise.withResolvers<undefined>();
  readonly closed: Promise<void> = this.#closed.promise.then(() => undefined);
  #received = "";
  #resumeWrite: (() => void) | null = null;
  #resumeRead: (() => void) | null = null;

  constructor(
    readonly serial: number,
    private readonly socket: Socket<SocketConnection | undefined>,
  ) {}

  async request(): Promise<string> {
    for (;;) {
      const end = this.#received.indexOf("\r\n\r\n");
      const length = Number(/^content-length: *(\d+)/im.exec(this.#received)?.[1] ?? 0);
      if (end >= 0 && this.#received.length >= end + 4 + length) {
        const request = this.#received.slice(0, end + 4 + length);
        this.#received = this.#received.slice(request.length);
        return request;
      }
      await new Promise<void>((resolve) => (this.#resumeRead = resolve));
    }
  }

  async headers(): Promise<void> {
    while (!this.#received.includes("\r\n\r\n"))
      await new Promise<void>((resolve) => (this.#resumeRead = resolve));
  }

  async write(bytes: string | Uint8Array): Promise<boolean> {
    let rest = typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes;
    while (rest.length > 0 && !this.isClosed) {
      const written = this.socket.write(rest);
      // The gateway has closed the connection; the close event follows.
      if (written < 0) return false;
      rest = rest.subarray(written);
      if (rest.length > 0) {
        const drained = new Promise<void>((resolve) => (this.#resumeWrite = resolve));
        await Promise.race([drained, this.closed]);
      }
    }
    return !this.isClosed;
  }

  pause(): void {
    this.socket.pause();
  }
  end(): void {
    this.socket.end();
  }
  reset(): void {
    this.socket.terminate();
  }

  onData(bytes: Buffer): void {
    this.#received += bytes.toString("latin1");
    this.#resumeRead?.();
  }
  onDrain(): void {
    this.#resumeWrite?.();
  }
  onClose(): void {
    this.isClosed = true;
    this.#closed.resolve(undefined);
  }
}

export function startRawProvider(): RawProvider {
  let script: ConnectionScript = async (connection) => {
    await connection.request();
    connection.end();
  };
  let connections = 0;
  const open = new Set<SocketConnection>();
  const listener = Bun.listen<SocketConnection | undefined>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(socket) {
        const connection = new SocketConnection(++connections, socket);
        socket.data = connection;
        open.add(connection);
        void script(connection);
      },
      data: (socket, bytes) => socket.data?.onData(bytes),
      drain: (socket) => socket.data?.onDrain(),
      close(socket) {
        if (socket.data !== undefined) open.delete(socket.data);
        socket.data?.onClose();
      },
      error: (socket) => socket.terminate(),
    },
  });
  return {
    port: listener.port,
    url: `http://127.0.0.1:${listener.port}`,
    async behave(next) {
      script = next;
      for (const connection of open) connection.reset();
      await waitUntil(() => open.size === 0 && connectionsTo(listener.port) === 0);
    },
    get connections() {
      return connections;
    },
    open: () => open.size,
    stop: () => listener.stop(true),
  };
}
