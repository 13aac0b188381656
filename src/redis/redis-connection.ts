// The connection to Redis: a circuit breaker that opens when Redis becomes unavailable, and reconnecting.
import { RedisClient } from "bun";
import type { Clock } from "../base/clock.ts";
import { errorCode } from "../base/error-code.ts";
import { toError } from "../base/to-error.ts";
import { withTimeout } from "../base/with-timeout.ts";
import { SilenceDetector } from "./silence-detector.ts";

/**
 * Commands in flight at once; others wait in this process. This limits the commands that Redis finds in its socket after a
 * pause (it would count all of them), and how long Redis serves each of many processes in a burst: with 16 kB per
 * process, a dozen of them would make it look silent. With a round trip of 1 ms, 32 allow 32,000 commands per second.
 */
const MAX_IN_FLIGHT = 32;
const CONNECT_TIMEOUT_MS = 250;
const RECONNECT_PAUSE_MS = 100;

/** Redis is unavailable; the caller must decide without it. */
export class RedisUnavailable extends Error {
  override readonly name = "RedisUnavailable";
}

/** One connection to one process of Redis, from its verification until it is dropped. */
export interface RedisSession {
  /** Identifies the process, if `verify` has returned that; else empty. */
  readonly server: string;
}

/** The arguments of a command, or a function that needs to know the connection on which they are sent. */
export type RedisArguments = string[] | ((session: RedisSession) => string[]);

/** A client with a limit on the commands in flight. */
class LimitedClient implements RedisSession {
  readonly client: RedisClient;
  readonly silence: SilenceDetector;
  readonly server: string;
  #inFlight = 0;
  #waiting: PromiseWithResolvers<undefined>[] = [];
  #nextWaiting = 0;

  constructor(client: RedisClient, silence: SilenceDetector, server: string) {
    this.client = client;
    this.server = server;
    this.silence = silence;
  }

  /** `isAsking`: Redis Cluster accepts the command for a slot that is being moved to this server. */
  async send(command: string, args: string[], isAsking: boolean): Promise<unknown> {
    this.silence.recordCommand();
    if (this.#inFlight >= MAX_IN_FLIGHT) await this.#waitForSlot();
    else this.#inFlight++;
    try {
      // Commands are sent in order, so that it applies to the following one. A failure of the connection rejects both.
      if (isAsking) this.client.send("ASKING", []).catch(() => undefined);
      const reply: unknown = await this.client.send(command, args);
      return reply;
    } finally {
      this.#releaseSlot();
    }
  }

  /** Closes the client. Waiting and pending commands reject. */
  close(): void {
    this.silence.stop();
    this.client.onclose = null;
    this.client.close();
    for (const waiting of this.#waiting.slice(this.#nextWaiting)) waiting.reject(new RedisUnavailable());
    this.#waiting = [];
    this.#nextWaiting = 0;
  }

  #waitForSlot(): Promise<undefined> {
    const slot = Promise.withResolvers<undefined>();
    this.#waiting.push(slot);
    return slot.promise;
  }

  /** Passes the slot of a finished command to the command that has waited longest. */
  #releaseSlot(): void {
    const next = this.#waiting[this.#nextWaiting];
    if (next === undefined) {
      this.#inFlight--;
      this.#waiting = [];
      this.#nextWaiting = 0;
      return;
    }
    this.#nextWaiting++;
    next.resolve(undefined);
  }
}

/** The state of the dependency in /readyz. */
export interface RedisState {
  readonly state: "ok" | "away";
  readonly detail?: string;
}

interface RedisConnectionOptions {
  readonly url: string;
  readonly clock: Clock;
  /**
   * Tests that Redis can do its work. A PING is not enough: read-only and full servers reply to it as well. May resolve to a text that
   * identifies the process of Redis.
   */
  readonly verify: (client: RedisClient) => Promise<unknown>;
  /** How long Redis may send no reply before it is unavailable. */
  readonly silenceTimeoutMs: number;
  /** Called with each new state; the same state is not repeated. */
  readonly onStateChange?: ((state: RedisState) => void) | undefined;
}

/**
 * While there is a connection, commands are sent. While there is none, they fail immediately, and a new connection is tried
 * several times per second. Bun's own reconnecting backs off to two seconds and queues commands meanwhile, so it is off.
 */
export class RedisConnection {
  readonly #options: RedisConnectionOptions;
  readonly #label: string;
  #current: LimitedClient | null = null;
  #state: RedisState;
  #isClosed = false;
  #isSettled = false;
  #unavailableSince: number | null;
  #endPause: (() => void) | null = null;
  readonly #firstAttempt = Promise.withResolvers<undefined>();

  constructor(options: RedisConnectionOptions) {
    this.#options = options;
    this.#label = `Redis at ${addressOf(options.url)}`;
    this.#state = { state: "away", detail: `${this.#label} is not connected yet` };
    this.#unavailableSince = options.clock.now();
    void this.#connect();
  }

  get state(): RedisState {
    return this.#state;
  }

  get isConnected(): boolean {
    return this.#current !== null;
  }

  get session(): RedisSession | null {
    return this.#current;
  }

  /** The time of the clock at which Redis sent its last reply, or the connection was lost; null while there is one. */
  get unavailableSince(): number | null {
    return this.#unavailableSince;
  }

  /** Whether the first connection attempt has succeeded or failed. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** Resolves when the first connection attempt has succeeded or failed. */
  get settled(): Promise<void> {
    return this.#firstAttempt.promise;
  }

  /** Rejects with RedisUnavailable if there is no reply, or with the error that Redis returned. */
  async send(command: string, args: RedisArguments, isAsking = false): Promise<unknown> {
    const current = this.#current;
    if (current === null) throw new RedisUnavailable();
    try {
      const sent = typeof args === "function" ? args(current) : args;
      const reply = await current.send(command, sent, isAsking);
      current.silence.recordReply();
      return reply;
    } catch (error) {
      if (current === this.#current && !current.client.connected) this.disconnect("closed the connection");
      // This client was dropped meanwhile. If there is a new one, the error is not about that one.
      if (current !== this.#current) throw new RedisUnavailable();
      current.silence.recordReply();
      throw error;
    }
  }

  /** Drops the connection: pending commands reject now, and reconnecting starts. `reason` follows "Redis at …". */
  disconnect(reason: string): void {
    const current = this.#current;
    if (current === null) return;
    this.#current = null;
    this.#unavailableSince = current.silence.pendingSince ?? this.#options.clock.now();
    current.close();
    this.#setState({ state: "away", detail: `${this.#label} ${reason}` });
    if (!this.#isClosed) void this.#connect();
  }

  close(): void {
    this.#isClosed = true;
    this.#current?.close();
    this.#current = null;
    this.#endPause?.();
  }

  async #connect(): Promise<void> {
    while (!this.#isClosed) {
      const problem = await this.#tryConnect();
      if (problem === null || this.#isClosed) break;
      this.#isSettled = true;
      this.#setState({ state: "away", detail: problem });
      this.#firstAttempt.resolve(undefined);
      await this.#pause();
    }
    this.#isSettled = true;
    this.#firstAttempt.resolve(undefined);
  }

  /** Returns null if the connection is established and verified, else the problem. */
  async #tryConnect(): Promise<string | null> {
    // The offline queue holds the first command until the handshake is done. The rejection of that command also is the
    // only place where Bun's client reports why a handshake failed: `connect()` only reports "Connection closed".
    const client = new RedisClient(this.#options.url, {
      autoReconnect: false,
      enableOfflineQueue: true,
      connectionTimeout: CONNECT_TIMEOUT_MS,
    });
    let server: unknown;
    try {
      server = await withTimeout(
        CONNECT_TIMEOUT_MS,
        this.#options.verify(client),
        () => new RedisUnavailable("no reply"),
        this.#options.clock,
      );
    } catch (error) {
      client.close();
      return this.#describe(error);
    }
    if (this.#isClosed) client.close();
    else this.#use(client, typeof server === "string" ? server : "");
    return null;
  }

  #use(client: RedisClient, server: string): void {
    const { clock, silenceTimeoutMs } = this.#options;
    const silence = new SilenceDetector((reason) => this.disconnect(reason), clock, silenceTimeoutMs);
    this.#current = new LimitedClient(client, silence, server);
    this.#unavailableSince = null;
    client.onclose = () => {
      if (this.#current?.client === client) this.disconnect("closed the connection");
    };
    // The connection may have been closed after the last reply, before `onclose` was set.
    if (!client.connected) this.disconnect("closed the connection");
    else this.#setState({ state: "ok" });
  }

  #describe(error: unknown): string {
    if (error instanceof RedisUnavailable) return `${this.#label} does not respond`;
    const code = errorCode(error);
    if (code === "ERR_REDIS_CONNECTION_CLOSED" || code === "ERR_REDIS_CONNECTION_TIMEOUT")
      return `${this.#label} cannot be reached`;
    const { message } = toError(error);
    if (/^(WRONGPASS|NOAUTH|NOPERM)/.test(message))
      return `${this.#label} rejects the credentials in REDIS_URL: ${message}`;
    return `${this.#label} returned an error: ${message}`;
  }

  #setState(state: RedisState): void {
    if (state.state === this.#state.state && state.detail === this.#state.detail) return;
    this.#state = state;
    this.#options.onStateChange?.(state);
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#options.clock.setTimeout(resolve, RECONNECT_PAUSE_MS);
      this.#endPause = () => {
        timer.close();
        resolve();
      };
    });
  }
}

/** Returns host and port, or the path of the socket, without credentials. */
function addressOf(url: string): string {
  const parsed = URL.parse(url) ?? URL.parse(`redis://${url}`);
  return parsed === null ? "REDIS_URL" : parsed.host || parsed.pathname;
}
