// A TCP proxy for fault injection: delays, throttles, stalls, closes, and resets connections on demand, in either direction
// and at any time, including connections that are already open. It does not interpret the bytes.
import type { Socket } from "bun";
import { systemClock, type Clock, type ClockTimer } from "../../src/base/clock.ts";

/** What happens to the bytes of one direction. Bytes are counted per connection, from the moment the fault was set. */
interface Fault {
  /** Delay of every piece. */
  readonly delayMs?: number;
  readonly bytesPerSecond?: number;
  /** Stop forwarding after this many bytes; both connections stay open. */
  readonly stallAfterBytes?: number;
  /** Close both connections in an orderly way after this many bytes. */
  readonly cutAfterBytes?: number;
  /** Reset both connections after this many bytes. */
  readonly resetAfterBytes?: number;
}

interface Faults {
  readonly toServer?: Fault;
  readonly toClient?: Fault;
}

export interface FaultProxy {
  readonly port: number;
  /** Returns the URL with the address of this proxy. */
  through(url: string): string;
  /** Replaces the active faults, for open and new connections. */
  set(faults: Faults): void;
  /** Removes all faults: forwards the bytes that were held back, and accepts connections again. */
  heal(): void;
  /** Rejects new connections, and resets open ones unless `keepOpen` is true. */
  refuse(keepOpen?: boolean): void;
  /** Permanently stops forwarding on open connections, like a firewall that has lost their state. New ones work. */
  strand(): void;
  /** Closes or resets every open connection. New ones work. */
  dropAll(how?: "cut" | "reset"): void;
  openConnections(): number;
  /** Number of connections accepted since the start. */
  readonly accepted: number;
  stop(): void;
}

/** Reading pauses while more bytes wait in one direction, so that backpressure passes through. */
const HIGH_WATER_BYTES = 256 * 1024;
/** A throttled direction sends the bytes of this interval at once. */
const THROTTLE_STEP_MS = 10;

/** Bytes that wait in one direction of a connection until `dueAt`. */
interface Piece {
  bytes: Uint8Array;
  readonly dueAt: number;
}

/** Forwards the bytes of one direction of one connection. */
class Forwarder {
  readonly #waiting: Piece[] = [];
  #waitingBytes = 0;
  #fault: Fault = {};
  #passed = 0;
  #timer: ClockTimer | null = null;
  #isSourceEnded = false;
  #isSourcePaused = false;
  /** When a throttled direction may send again. */
  #nextAt = 0;

  constructor(
    private readonly source: () => Socket<unknown> | null,
    private readonly sink: () => Socket<unknown> | null,
    private readonly onBreak: (how: "cut" | "reset") => void,
    private readonly clock: Clock,
  ) {}

  set(fault: Fault): void {
    this.#fault = fault;
    this.#passed = 0;
    this.#nextAt = 0;
    this.pump();
  }

  take(bytes: Uint8Array): void {
    this.#waiting.push({ bytes: bytes.slice(), dueAt: this.clock.now() + (this.#fault.delayMs ?? 0) });
    this.#waitingBytes += bytes.length;
    if (this.#waitingBytes > HIGH_WATER_BYTES && !this.#isSourcePaused) {
      this.#isSourcePaused = true;
      this.source()?.pause();
    }
    this.pump();
  }

  sourceEnded(): void {
    this.#isSourceEnded = true;
    this.pump();
  }

  close(): void {
    this.#timer?.close();
    this.#waiting.length = 0;
  }

  /** Forwards as many bytes as the fault, the clock, and the sink allow. */
  pump(): void {
    this.#timer?.close();
    this.#timer = null;
    const sink = this.sink();
    if (sink === null) return;
    for (;;) {
      const { cutAfterBytes, resetAfterBytes, stallAfterBytes } = this.#fault;
      const isCut = cutAfterBytes !== undefined && this.#passed >= cutAfterBytes;
      if (isCut || (resetAfterBytes !== undefined && this.#passed >= resetAfterBytes)) {
        this.onBreak(isCut ? "cut" : "reset");
        return;
      }
      if (stallAfterBytes !== undefined && this.#passed >= stallAfterBytes) return;
      const [piece] = this.#waiting;
      if (piece === undefined) break;
      const now = this.clock.now();
      const startAt = Math.max(piece.dueAt, this.#nextAt);
      if (startAt > now) {
        this.#timer = this.clock.setTimeout(() => this.pump(), startAt - now);
        return;
      }
      const offered = piece.bytes.subarray(0, this.#allowance());
      const taken = sink.write(offered);
      if (taken < 0) return;
      this.#account(piece, taken, now);
      // The kernel's buffer is full: the drain event calls pump() again.
      if (taken < offered.length) return;
    }
    if (this.#isSourceEnded) sink.end();
  }

  #account(piece: Piece, taken: number, now: number): void {
    this.#passed += taken;
    this.#waitingBytes -= taken;
    if (taken === piece.bytes.length) this.#waiting.shift();
    else piece.bytes = piece.bytes.subarray(taken);
    const { bytesPerSecond } = this.#fault;
    if (bytesPerSecond !== undefined) this.#nextAt = now + (taken / bytesPerSecond) * 1000;
    if (this.#isSourcePaused && this.#waitingBytes < HIGH_WATER_BYTES / 2) {
      this.#isSourcePaused = false;
      this.source()?.resume();
    }
  }

  /** Returns how many bytes may be sent now: up to the byte of the next fault and within the throttle's step. */
  #allowance(): number {
    const { cutAfterBytes, resetAfterBytes, stallAfterBytes, bytesPerSecond } = this.#fault;
    const limits = [cutAfterBytes, resetAfterBytes, stallAfterBytes].filter((limit) => limit !== undefined);
    const untilFault = Math.min(Infinity, ...limits) - this.#passed;
    if (bytesPerSecond === undefined) return untilFault;
    return Math.min(untilFault, Math.max(1, Math.floor((bytesPerSecond * THROTTLE_STEP_MS) / 1000)));
  }
}

/** A client's connection and the corresponding connection to the server. */
class ConnectionPair {
  #server: Socket | null = null;
  #isBroken = false;
  #closedSides = 0;
  readonly toServer: Forwarder;
  readonly toClient: Forwarder;

  constructor(
    private readonly client: Socket<ConnectionPair | undefined>,
    private readonly onClosed: (pair: ConnectionPair) => void,
    clock: Clock,
  ) {
    this.toServer = new Forwarder(
      () => client,
      () => this.#server,
      (how) => this.break(how),
      clock,
    );
    this.toClient = new Forwarder(
      () => this.#server,
      () => client,
      (how) => this.break(how),
      clock,
    );
  }

  async connect(hostname: string, port: number): Promise<void> {
    try {
      await Bun.connect({
        hostname,
        port,
        allowHalfOpen: true,
        socket: {
          open: (socket) => {
            if (this.#isBroken) {
              socket.terminate();
              return;
            }
            this.#server = socket;
            this.toServer.pump();
          },
          data: (_, bytes) => this.toClient.take(bytes),
          drain: () => this.toServer.pump(),
          end: () => this.toClient.sourceEnded(),
          close: (_, error) => this.#sideClosed(this.toClient, error),
          error: (socket) => socket.terminate(),
        },
      });
    } catch {
      // The server rejects the connection; the client's connection is already accepted, so reset it.
      this.break("reset");
    }
  }

  clientEnded(): void {
    this.toServer.sourceEnded();
  }

  clientClosed(error: unknown): void {
    this.#sideClosed(this.toServer, error);
  }

  break(how: "cut" | "reset"): void {
    if (this.#isBroken) return;
    this.#isBroken = true;
    this.toServer.close();
    this.toClient.close();
    for (const socket of [this.client, this.#server]) {
      if (how === "reset") socket?.terminate();
      else socket?.end();
    }
    this.onClosed(this);
  }

  /** After an orderly close, received bytes are still forwarded; after a reset, the other side is reset too. */
  #sideClosed(forwarder: Forwarder, error: unknown): void {
    if (this.#isBroken) return;
    if (error !== undefined && error !== null) {
      this.break("reset");
      return;
    }
    forwarder.sourceEnded();
    if (++this.#closedSides === 2) this.break("cut");
  }
}

interface FaultProxyOptions {
  /** The address of the server behind the proxy. */
  readonly port: number;
  readonly hostname?: string;
  /** The clock of delays and of throttling. */
  readonly clock?: Clock;
}

export function startFaultProxy(options: FaultProxyOptions): FaultProxy {
  const pairs = new Set<ConnectionPair>();
  const stranded = new Set<ConnectionPair>();
  let faults: Faults = {};
  let accepted = 0;
  const apply = (pair: ConnectionPair) => {
    pair.toServer.set(faults.toServer ?? {});
    pair.toClient.set(faults.toClient ?? {});
  };
  const listenOn = (port: number) =>
    Bun.listen<ConnectionPair | undefined>({
      hostname: "127.0.0.1",
      port,
      exclusive: true,
      allowHalfOpen: true,
      socket: {
        open(socket) {
          accepted++;
          const pair = new ConnectionPair(
            socket,
            (closed) => pairs.delete(closed) || stranded.delete(closed),
            options.clock ?? systemClock,
          );
          socket.data = pair;
          pairs.add(pair);
          apply(pair);
          void pair.connect(options.hostname ?? "127.0.0.1", options.port);
        },
        data: (socket, bytes) => socket.data?.toServer.take(bytes),
        drain: (socket) => socket.data?.toClient.pump(),
        end: (socket) => socket.data?.clientEnded(),
        close: (socket, error) => socket.data?.clientClosed(error),
        error: (socket) => socket.terminate(),
      },
    });
  let listener: ReturnType<typeof listenOn> | null = listenOn(0);
  const { port } = listener;
  const dropAll = (how: "cut" | "reset" = "reset") => {
    for (const pair of [...pairs]) pair.break(how);
  };
  return {
    port,
    through: (url) => Object.assign(new URL(url), { hostname: "127.0.0.1", port: String(port) }).href,
    set(newFaults) {
      faults = newFaults;
      for (const pair of [...pairs]) apply(pair);
    },
    heal() {
      this.set({});
      listener ??= listenOn(port);
    },
    refuse(keepOpen = false) {
      listener?.stop(false);
      listener = null;
      if (!keepOpen) dropAll();
    },
    strand() {
      for (const pair of pairs) {
        pair.toServer.set({ stallAfterBytes: 0 });
        pair.toClient.set({ stallAfterBytes: 0 });
        stranded.add(pair);
      }
      pairs.clear();
    },
    dropAll,
    openConnections: () => pairs.size,
    get accepted() {
      return accepted;
    },
    stop() {
      listener?.stop(false);
      listener = null;
      dropAll();
      for (const pair of [...stranded]) pair.break("reset");
    },
  };
}
