// Owns the connection to Redis: the breaker that opens when Redis is lost, and the probe that looks for its return.
import { RedisClient } from "bun";
import type { Clock } from "../base/clock.ts";
import { withTimeout } from "../base/with-timeout.ts";
import type { CountersState } from "./counters.ts";
import { SilenceWatch } from "./silence-watch.ts";

/**
 * Commands that may be under way at once; the others wait here for their turn. It keeps what Redis finds in its socket
 * after a pause small (it would count all of that), and its turns for each of many bursting processes short: at
 * 16 kB a turn, a dozen of them would make it look silent. 32 a round trip of a millisecond are 32,000 a second.
 */
const MAX_UNDER_WAY = 32;
const PROBE_TIMEOUT_MS = 250;
const PROBE_PAUSE_MS = 100;

/** Redis is away; whoever asked decides without it. */
export class RedisUnavailable extends Error {
  override readonly name = "RedisAway";
}

class Connection {
  readonly client: RedisClient;
  readonly watch: SilenceWatch;
  #underWay = 0;
  #waiting: PromiseWithResolvers<undefined>[] = [];
  #nextWaiting = 0;

  constructor(client: RedisClient, watch: SilenceWatch) {
    this.client = client;
    this.watch = watch;
  }

  async send(command: string, words: string[]): Promise<unknown> {
    this.watch.sent();
    if (this.#underWay >= MAX_UNDER_WAY) await this.#turn();
    else this.#underWay++;
    try {
      return (await this.client.send(command, words)) as unknown;
    } finally {
      this.#passOn();
    }
  }

  /** Fails whatever waits, which is how its callers come to decide alone. */
  drop(): void {
    this.watch.stop();
    this.client.onclose = null;
    this.client.close();
    for (const waiting of this.#waiting.slice(this.#nextWaiting)) waiting.reject(new RedisUnavailable());
    this.#waiting = [];
    this.#nextWaiting = 0;
  }

  #turn(): Promise<undefined> {
    const turn = Promise.withResolvers<undefined>();
    this.#waiting.push(turn);
    return turn.promise;
  }

  /** Hands the place of a finished command to the one that has waited longest. */
  #passOn(): void {
    const next = this.#waiting[this.#nextWaiting];
    if (next === undefined) {
      this.#underWay--;
      this.#waiting = [];
      this.#nextWaiting = 0;
      return;
    }
    this.#nextWaiting++;
    next.resolve(undefined);
  }
}

export interface LinkOptions {
  readonly url: string;
  readonly clock: Clock;
  /** Proves that Redis does the work it is needed for: a PING is answered by read-only and by full ones as well. */
  readonly prove: (client: RedisClient) => Promise<unknown>;
  readonly silentMs?: number | undefined;
  /** Each new state; the same one is not repeated. */
  readonly onStateChange?: ((state: CountersState) => void) | undefined;
}

/**
 * Closed (there is a connection): commands go out. Open (there is none): they fail at once, without any waiting, while a
 * probe looks for Redis several times a second with a connection of its own, which then becomes the connection. Bun's
 * own reconnecting backs off to two seconds and keeps commands queued meanwhile, so it is off.
 */
export class RedisConnection {
  readonly #options: LinkOptions;
  readonly #where: string;
  #connection: Connection | null = null;
  #state: CountersState;
  #closed = false;
  #wake: (() => void) | null = null;
  readonly #firstProbe = Promise.withResolvers<undefined>();

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#where = `Redis at ${placeOf(options.url)}`;
    this.#state = { state: "away", detail: `${this.#where} is not connected yet` };
    void this.#seek();
  }

  get state(): CountersState {
    return this.#state;
  }

  get isUp(): boolean {
    return this.#connection !== null;
  }

  /** Resolves when the first probe has found Redis or failed to. */
  get settled(): Promise<void> {
    return this.#firstProbe.promise;
  }

  /** Rejects with RedisAway when Redis does not answer, or with the error that Redis answered. */
  async send(command: string, words: string[]): Promise<unknown> {
    const connection = this.#connection;
    if (connection === null) throw new RedisUnavailable();
    try {
      const reply = await connection.send(command, words);
      connection.watch.answered();
      return reply;
    } catch (error) {
      if (connection === this.#connection && !connection.client.connected) this.lose("closed the connection");
      // Lost here or by somebody else meanwhile; a connection that took its place is not to blame.
      if (connection !== this.#connection) throw new RedisUnavailable();
      connection.watch.answered();
      throw error;
    }
  }

  /** Opens the breaker: everything that waits fails now, and the probe starts. */
  lose(why: string): void {
    const connection = this.#connection;
    if (connection === null) return;
    this.#connection = null;
    connection.drop();
    this.#announce({ state: "away", detail: `${this.#where} ${why}` });
    if (!this.#closed) void this.#seek();
  }

  close(): void {
    this.#closed = true;
    this.#connection?.drop();
    this.#connection = null;
    this.#wake?.();
  }

  async #seek(): Promise<void> {
    while (!this.#closed) {
      const error = await this.#probe();
      if (error === null || this.#closed) break;
      this.#announce({ state: "away", detail: error });
      this.#firstProbe.resolve(undefined);
      await this.#pause();
    }
    this.#firstProbe.resolve(undefined);
  }

  /** Connects and proves; null when the connection is in place, else what is wrong. */
  async #probe(): Promise<string | null> {
    // The offline queue holds the first command until the handshake is done. It also is the one place where Bun's
    // client says why a handshake failed: `connect()` only says "Connection closed".
    const client = new RedisClient(this.#options.url, {
      autoReconnect: false,
      enableOfflineQueue: true,
      connectionTimeout: PROBE_TIMEOUT_MS,
    });
    try {
      await withTimeout(
        PROBE_TIMEOUT_MS,
        this.#options.prove(client),
        () => new RedisUnavailable("no answer"),
        this.#options.clock,
      );
    } catch (error) {
      client.close();
      return this.#describe(error);
    }
    if (this.#closed) client.close();
    else this.#use(client);
    return null;
  }

  #use(client: RedisClient): void {
    this.#connection = new Connection(
      client,
      new SilenceWatch((why) => this.lose(why), this.#options.clock, this.#options.silentMs),
    );
    client.onclose = () => {
      if (this.#connection?.client === client) this.lose("closed the connection");
    };
    // It may have gone between its last answer and this moment, when nobody listened.
    if (!client.connected) this.lose("closed the connection");
    else this.#announce({ state: "ok" });
  }

  #describe(error: unknown): string {
    if (error instanceof RedisUnavailable) return `${this.#where} does not answer`;
    const { message, code } = error as { message: string; code?: string };
    if (code === "ERR_REDIS_CONNECTION_CLOSED" || code === "ERR_REDIS_CONNECTION_TIMEOUT")
      return `${this.#where} cannot be reached`;
    if (/^(WRONGPASS|NOAUTH|NOPERM)/.test(message))
      return `${this.#where} refuses the credentials in REDIS_URL: ${message}`;
    return `${this.#where} answers: ${message}`;
  }

  #announce(state: CountersState): void {
    if (state.state === this.#state.state && state.detail === this.#state.detail) return;
    this.#state = state;
    this.#options.onStateChange?.(state);
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#options.clock.setTimeout(resolve, PROBE_PAUSE_MS);
      this.#wake = () => {
        timer.close();
        resolve();
      };
    });
  }
}

/** Host and port, or the socket's path: never the credentials. */
function placeOf(url: string): string {
  const parsed = URL.parse(url) ?? URL.parse(`redis://${url}`);
  return parsed === null ? "REDIS_URL" : parsed.host || parsed.pathname;
}
