// The fake provider's TCP server: counts connections and requests, holds the behavior, and can restart on the same port.
import { systemClock, type Clock } from "../base/clock.ts";
import type { Behavior } from "./behavior.ts";
import { Connection, type ConnectionOwner } from "./connection.ts";
import type { RequestHead } from "./http-parser.ts";
import { ReceivedRequest, RequestLog, type RecordedRequest } from "./recorded-request.ts";
import { StoredObjects } from "./stored-objects.ts";

export type { Behavior, HeaderPair } from "./behavior.ts";
export type { RecordedRequest } from "./recorded-request.ts";

type BehaviorScript = Behavior | ((request: RecordedRequest) => Behavior);

export interface FakeProviderOptions {
  port?: number;
  hostname?: string;
  /** The provider's name in its responses. */
  name?: string;
  /** False keeps counts only, for load tests. */
  record?: boolean;
  /** Maximum number of recorded requests, and of the bytes of their bodies. */
  maxRecords?: number;
  maxRecordedBytes?: number;
  /** The clock of the delays in a behavior. */
  clock?: Clock;
}

export interface FakeProvider {
  readonly url: string;
  readonly port: number;
  readonly name: string;
  /** The latest requests, oldest first; always the same array. A request is added when its headers are complete. */
  readonly requests: readonly RecordedRequest[];
  /** Number of requests since the start or the last reset, recorded or not. */
  readonly requestCount: number;
  readonly connectionsOpened: number;
  openConnections(): number;
  behave(script: BehaviorScript): void;
  /** Clears records, counts, behavior, and stored objects; connections stay open. */
  reset(): void;
  /** Resolves once the check returns true; rejects with the check's source after `timeoutMs` (default 4 s). */
  until(check: () => boolean, timeoutMs?: number): Promise<void>;
  /** Stops listening and drops every connection. */
  stop(): Promise<void>;
  /** Listens again on the same port; behavior and records are kept. */
  restart(): Promise<void>;
}

export async function startFakeProvider(options: FakeProviderOptions = {}): Promise<FakeProvider> {
  const provider = new TcpFakeProvider(options);
  await provider.restart();
  return provider;
}

// Generous, for a busy machine; shorter than the timeout of tests, so that the error names the failed check.
const UNTIL_MS = 40_000;
const POLL_MS = 2;

type Listener = Bun.TCPSocketListener<Connection | undefined>;

class TcpFakeProvider implements FakeProvider, ConnectionOwner {
  readonly name: string;
  readonly clock: Clock;
  readonly stored = new StoredObjects();
  port: number;
  connectionsOpened = 0;
  readonly #hostname: string;
  readonly #record: boolean;
  readonly #log: RequestLog;
  readonly #connections = new Set<Connection>();
  #script: BehaviorScript = {};
  /** Not `connectionsOpened`: reset() clears that while connections stay open. */
  #lastConnection = 0;
  #listener: Listener | null = null;

  constructor(options: FakeProviderOptions) {
    this.name = options.name ?? "fake";
    this.clock = options.clock ?? systemClock;
    this.port = options.port ?? 0;
    this.#hostname = options.hostname ?? "127.0.0.1";
    this.#record = options.record ?? true;
    this.#log = new RequestLog(options.maxRecords ?? 10_000, options.maxRecordedBytes ?? 1 << 28);
  }

  get url(): string {
    const host = this.#hostname.includes(":") ? `[${this.#hostname}]` : this.#hostname;
    return `http://${host}:${this.port}`;
  }

  get requests(): readonly RecordedRequest[] {
    return this.#log.entries;
  }

  get requestCount(): number {
    return this.#log.count;
  }

  openConnections(): number {
    return this.#connections.size;
  }

  behave(script: BehaviorScript): void {
    this.#script = script;
  }

  reset(): void {
    this.#script = {};
    this.#log.clear();
    this.stored.clear();
    this.connectionsOpened = 0;
  }

  requestStarted(head: RequestHead, connection: number): ReceivedRequest {
    const request = new ReceivedRequest(head, ++this.#log.count, connection);
    if (this.#record) this.#log.add(request);
    return request;
  }

  bodyReceived(request: ReceivedRequest): void {
    this.#log.recordBodySize(request);
  }

  fixedBehavior(): Behavior {
    return typeof this.#script === "function" ? {} : this.#script;
  }

  behaviorFor(request: ReceivedRequest): Behavior {
    return typeof this.#script === "function" ? this.#script(request) : this.#script;
  }

  async until(check: () => boolean, timeoutMs = UNTIL_MS): Promise<void> {
    const deadline = performance.now() + timeoutMs;
    // Polls instead of reacting to events: a check may read anything, for example `bytesSent`.
    while (!check()) {
      if (performance.now() >= deadline) {
        throw new Error(`${this.name}: condition not met within ${timeoutMs} ms: ${check.toString()}`);
      }
      await Bun.sleep(POLL_MS);
    }
  }

  async stop(): Promise<void> {
    const listener = this.#listener;
    this.#listener = null;
    listener?.stop(true);
    await this.until(() => this.#connections.size === 0);
  }

  async restart(): Promise<void> {
    await this.stop();
    this.#listener = Bun.listen<Connection | undefined>({
      hostname: this.#hostname,
      port: this.port,
      // Otherwise a second listener could share the port and take half of the connections unnoticed.
      exclusive: true,
      socket: {
        open: (socket) => this.#opened(socket),
        data: (socket, bytes) => socket.data?.received(bytes),
        drain: (socket) => socket.data?.drained(),
        close: (socket) => this.#closed(socket.data),
        error: (socket) => socket.terminate(),
      },
    });
    this.port = this.#listener.port;
  }

  #opened(socket: Bun.Socket<Connection | undefined>): void {
    this.connectionsOpened++;
    const { refuse, reset } = this.fixedBehavior();
    if (refuse === true) {
      socket.data = undefined;
      if (reset === true) socket.terminate();
      else socket.end();
      return;
    }
    const connection = new Connection(++this.#lastConnection, socket, this);
    socket.data = connection;
    this.#connections.add(connection);
  }

  #closed(connection: Connection | undefined): void {
    if (connection === undefined) return;
    this.#connections.delete(connection);
    connection.closed(this.#listener !== null);
  }
}
