// A TCP proxy that makes trouble on demand: delays, throttles, stalls, cuts and resets what passes through it, in either
// direction and at any time, on connections that are open already too. It knows nothing of what it carries.
import type { Socket } from "bun";

/** What happens to the bytes of one direction. Counts are per connection, from the moment the fault was set. */
export interface Fault {
  /** Every piece arrives that much later. */
  readonly delayMs?: number;
  readonly bytesPerSecond?: number;
  /** After so many bytes nothing more passes; both connections stay open. */
  readonly stallAfterBytes?: number;
  /** After so many bytes both connections end in order. */
  readonly cutAfterBytes?: number;
  /** After so many bytes both connections are reset. */
  readonly resetAfterBytes?: number;
}

export interface Faults {
  readonly toServer?: Fault;
  readonly toClient?: Fault;
}

export interface FaultProxy {
  readonly port: number;
  /** The same address with this proxy's port: what is to pass through it is given this one. */
  through(url: string): string;
  /** Replaces the faults in force, for open connections and for new ones. */
  set(problems: Faults): void;
  /** No faults any more: what was held back goes on, and connections are accepted again. */
  heal(): void;
  /** Connections are refused; open ones are reset unless they may stay. */
  refuse(keepOpen?: boolean): void;
  /** Open connections go silent for good, as when a firewall has forgotten them; new ones are as before. */
  strand(): void;
  /** Breaks every open connection; new ones are as before. */
  dropAll(how?: "cut" | "reset"): void;
  openConnections(): number;
  /** Connections that were accepted since the start. */
  readonly accepted: number;
  stop(): void;
}

/** More than this waiting in one direction stops the reading, so that backpressure passes through. */
const HIGH_WATER_BYTES = 256 * 1024;
/** How finely a throttled direction is served. */
const THROTTLE_STEP_MS = 10;

/** Held in one direction of one connection; `dueAt` keeps delayed pieces in order. */
interface Piece {
  bytes: Uint8Array;
  readonly dueAt: number;
}

class Lane {
  readonly #waiting: Piece[] = [];
  #waitingBytes = 0;
  #fault: Fault = {};
  #passed = 0;
  #timer: Timer | null = null;
  #isSourceEnded = false;
  #isSourcePaused = false;
  /** When a throttled direction may go on. */
  #nextAt = 0;

  constructor(
    private readonly source: () => Socket<unknown> | null,
    private readonly sink: () => Socket<unknown> | null,
    private readonly onBreak: (how: "cut" | "reset") => void,
  ) {}

  set(error: Fault): void {
    this.#fault = error;
    this.#passed = 0;
    this.#nextAt = 0;
    this.pump();
  }

  take(bytes: Uint8Array): void {
    this.#waiting.push({ bytes: bytes.slice(), dueAt: performance.now() + (this.#fault.delayMs ?? 0) });
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
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#waiting.length = 0;
  }

  /** Hands on as much as the fault, the clock and the sink allow. */
  pump(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
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
      const now = performance.now();
      const startAt = Math.max(piece.dueAt, this.#nextAt);
      if (startAt > now) {
        this.#timer = setTimeout(() => this.pump(), startAt - now);
        return;
      }
      const offered = piece.bytes.subarray(0, this.#allowance());
      const taken = sink.write(offered);
      if (taken < 0) return;
      this.#account(piece, taken, now);
      // The kernel has no room: its drain event goes on.
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

  /** How many bytes may go at once: up to the next fault, and a throttle's small steps. */
  #allowance(): number {
    const { cutAfterBytes, resetAfterBytes, stallAfterBytes, bytesPerSecond } = this.#fault;
    const limits = [cutAfterBytes, resetAfterBytes, stallAfterBytes].filter((limit) => limit !== undefined);
    const untilFault = Math.min(Infinity, ...limits) - this.#passed;
    if (bytesPerSecond === undefined) return untilFault;
    return Math.min(untilFault, Math.max(1, Math.floor((bytesPerSecond * THROTTLE_STEP_MS) / 1000)));
  }
}

/** A client's connection and its counterpart to the server. */
class Pair {
  #server: Socket | null = null;
  #isBroken = false;
  #closedSides = 0;
  readonly toServer: Lane;
  readonly toClient: Lane;

  constructor(
    private readonly client: Socket<Pair | undefined>,
    private readonly onGone: (pair: Pair) => void,
  ) {
    this.toServer = new Lane(
      () => client,
      () => this.#server,
      (how) => this.break(how),
    );
    this.toClient = new Lane(
      () => this.#server,
      () => client,
      (how) => this.break(how),
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
      // The server refuses: so do we, as late as it has to be.
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
    this.onGone(this);
  }

  /** An orderly close still hands on what had arrived; a broken one breaks the other side too. */
  #sideClosed(lane: Lane, error: unknown): void {
    if (this.#isBroken) return;
    if (error !== undefined && error !== null) {
      this.break("reset");
      return;
    }
    lane.sourceEnded();
    if (++this.#closedSides === 2) this.break("cut");
  }
}

export function startFaultProxy(target: { readonly port: number; readonly hostname?: string }): FaultProxy {
  const pairs = new Set<Pair>();
  const stranded = new Set<Pair>();
  let problems: Faults = {};
  let accepted = 0;
  const apply = (pair: Pair) => {
    pair.toServer.set(problems.toServer ?? {});
    pair.toClient.set(problems.toClient ?? {});
  };
  const listenOn = (port: number) =>
    Bun.listen<Pair | undefined>({
      hostname: "127.0.0.1",
      port,
      exclusive: true,
      allowHalfOpen: true,
      socket: {
        open(socket) {
          accepted++;
          const pair = new Pair(socket, (gone) => pairs.delete(gone) || stranded.delete(gone));
          socket.data = pair;
          pairs.add(pair);
          apply(pair);
          void pair.connect(target.hostname ?? "127.0.0.1", target.port);
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
    set(wanted) {
      problems = wanted;
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
