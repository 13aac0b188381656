// The Redis that processes and nodes share: one server, or Redis Cluster if REDIS_URL has several seeds or names a node of a cluster.
import { readSlots, seedsOf } from "./cluster-slots.ts";
import { RedisCluster, type SharedRedisOptions } from "./redis-cluster.ts";
import {
  RedisConnection,
  type RedisArguments,
  type RedisSession,
  type RedisState,
} from "./redis-connection.ts";

const HASH_TAG = "proof";

export class SharedRedis {
  readonly #options: SharedRedisOptions;
  readonly #seeds: readonly string[];
  #single: RedisConnection | null = null;
  #cluster: RedisCluster | null = null;
  #isClosed = false;
  readonly #found = Promise.withResolvers<undefined>();

  /** `url`: one URL, or several with commas. */
  constructor(url: string, options: SharedRedisOptions) {
    this.#options = options;
    this.#seeds = seedsOf(url);
    const [first = ""] = this.#seeds;
    if (this.#seeds.length > 1) this.#useCluster();
    else this.#single = this.#connect(first);
  }

  get state(): RedisState {
    return this.#cluster?.state ?? this.#single?.state ?? { state: "away" };
  }

  /** Resolves when the first connection attempt has succeeded or failed. */
  get settled(): Promise<void> {
    return this.#found.promise;
  }

  isConnectedFor(key: string): boolean {
    return this.#cluster === null ? this.#single?.isConnected === true : this.#cluster.isConnectedFor(key);
  }

  /** The connection to the server of a key; null if there is none, or not yet. */
  sessionOf(key: string): RedisSession | null {
    return this.#cluster === null ? (this.#single?.session ?? null) : this.#cluster.sessionOf(key);
  }

  /** The time of the clock at which the server of a key sent its last reply; null while it is connected. */
  unavailableSince(key: string): number | null {
    if (this.#cluster !== null) return this.#cluster.unavailableSince(key);
    return this.#single?.unavailableSince ?? null;
  }

  /** All keys in `args` belong to the slot of `key`. Rejects as RedisConnection does. */
  send(key: string, command: string, args: RedisArguments): Promise<unknown> {
    if (this.#cluster !== null) return this.#cluster.send(key, command, args);
    return this.#requireSingle().send(command, args);
  }

  /** Drops the connection to the server of a key. `reason` follows "Redis at …". */
  disconnect(key: string, reason: string): void {
    if (this.#cluster === null) this.#single?.disconnect(reason);
    else this.#cluster.disconnect(key, reason);
  }

  close(): void {
    this.#isClosed = true;
    this.#single?.close();
    this.#cluster?.close();
  }

  #requireSingle(): RedisConnection {
    if (this.#single === null) throw new Error("there is no connection");
    return this.#single;
  }

  #connect(url: string): RedisConnection {
    const { clock, silenceTimeoutMs, verify, onStateChange, onAvailable } = this.#options;
    const connection = new RedisConnection({
      url,
      clock,
      silenceTimeoutMs,
      verify: async (client) => {
        const slots = await readSlots(client, url);
        if (slots === null) return verify(client, HASH_TAG);
        this.#useCluster();
        throw new Error("is a node of Redis Cluster");
      },
      onStateChange: (state) => {
        if (this.#cluster !== null) return;
        onStateChange?.(state);
        if (state.state === "ok") onAvailable?.();
      },
    });
    void connection.settled.then(() => {
      if (this.#cluster === null) this.#found.resolve(undefined);
    });
    return connection;
  }

  #useCluster(): void {
    if (this.#cluster !== null || this.#isClosed) return;
    this.#cluster = new RedisCluster(this.#seeds, this.#options);
    void this.#cluster.settled.then(() => this.#found.resolve(undefined));
    this.#single?.close();
  }
}
