// A provider that is nothing but a socket: a script writes whatever bytes it likes, whenever it likes.
import type { Socket } from "bun";
import { connectionsTo } from "../support/balancing-fixtures.ts";
import { waitFor } from "../support/gatehouse-process.ts";

/** One connection, as a script sees it. */
export interface Wire {
  /** Serial of the connection, from 1. */
  readonly serial: number;
  /** Resolves once a whole request has been read; the next call waits for the next one. */
  request(): Promise<string>;
  /** Resolves once the kernel has taken all of it; false when the peer has gone. */
  write(bytes: string | Uint8Array): Promise<boolean>;
  end(): void;
  reset(): void;
  readonly isGone: boolean;
  readonly gone: Promise<void>;
}

export type WireScript = (wire: Wire) => Promise<void>;

export interface RawProvider {
  readonly port: number;
  readonly url: string;
  /** From now on. Connections that were open are dropped, and the peer has noticed it. */
  behave(script: WireScript): Promise<void>;
  readonly connections: number;
  open(): number;
  stop(): void;
}

class SocketWire implements Wire {
  isGone = false;
  readonly gone: Promise<void>;
  readonly #left = Promise.withResolvers<undefined>();
  #received = "";
  #drained: (() => void) | null = null;
  #wanted: (() => void) | null = null;

  constructor(
    readonly serial: number,
    private readonly socket: Socket<SocketWire | undefined>,
  ) {
    this.gone = this.#left.promise.then(() => undefined);
  }

  async request(): Promise<string> {
    for (;;) {
      const end = this.#received.indexOf("\r\n\r\n");
      const length = Number(/^content-length: *(\d+)/im.exec(this.#received)?.[1] ?? 0);
      if (end >= 0 && this.#received.length >= end + 4 + length) {
        const request = this.#received.slice(0, end + 4 + length);
        this.#received = this.#received.slice(request.length);
        return request;
      }
      // Whoever waits for a request that never comes waits until the connection is gone, and then does nothing more.
      await new Promise<void>((resolve) => (this.#wanted = resolve));
    }
  }

  async write(bytes: string | Uint8Array): Promise<boolean> {
    let rest = typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes;
    while (rest.length > 0 && !this.isGone) {
      const taken = this.socket.write(rest);
      // The peer has gone; the close event, already under way, does the rest.
      if (taken < 0) return false;
      rest = rest.subarray(taken);
      if (rest.length > 0) {
        const drained = new Promise<void>((resolve) => (this.#drained = resolve));
        await Promise.race([drained, this.gone]);
      }
    }
    return !this.isGone;
  }

  end(): void {
    this.socket.end();
  }
  reset(): void {
    this.socket.terminate();
  }

  received(bytes: Buffer): void {
    this.#received += bytes.toString("latin1");
    this.#wanted?.();
  }
  drained(): void {
    this.#drained?.();
  }
  closed(): void {
    this.isGone = true;
    this.#left.resolve(undefined);
  }
}

export function startRawProvider(): RawProvider {
  let script: WireScript = async (wire) => {
    await wire.request();
    wire.end();
  };
  let connections = 0;
  const open = new Set<SocketWire>();
  const listener = Bun.listen<SocketWire | undefined>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(socket) {
        const wire = new SocketWire(++connections, socket);
        socket.data = wire;
        open.add(wire);
        void script(wire);
      },
      data: (socket, bytes) => socket.data?.received(bytes),
      drain: (socket) => socket.data?.drained(),
      close(socket) {
        if (socket.data !== undefined) open.delete(socket.data);
        socket.data?.closed();
      },
      error: (socket) => socket.terminate(),
    },
  });
  return {
    port: listener.port,
    url: `http://127.0.0.1:${listener.port}`,
    async behave(wanted) {
      script = wanted;
      for (const wire of open) wire.reset();
      await waitFor(() => (open.size === 0 && connectionsTo(listener.port) === 0 ? true : null));
    },
    get connections() {
      return connections;
    },
    open: () => open.size,
    stop: () => listener.stop(true),
  };
}
