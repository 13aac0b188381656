// Redis Cluster: sends each command to the master of its slot. See docs/decisions/0102-redis-cluster.md.
import { RedisClient } from "bun";
import type { Clock, ClockTimer } from "../base/clock.ts";
import { toError } from "../base/to-error.ts";
import { withTimeout } from "../base/with-timeout.ts";
import { readSlots, redirectionOf, SLOT_COUNT, slotOf } from "./cluster-slots.ts";
import {
  RedisConnection,
  RedisUnavailable,
  type RedisArguments,
  type RedisSession,
  type RedisState,
} from "./redis-connection.ts";

/** How often the slots are read at most, and how often they are read while a node is unavailable. */
const REFRESH_MS = 200;
const READ_TIMEOUT_MS = 500;
const MAX_REDIRECTIONS = 5;
/** While a slot is moved, commands whose keys are not all on one node are rejected: wait for the end of a short move. */
const TRY_AGAIN_MS = 20;
const MAX_TRIES_AGAIN = 10;
/** Hash tags to try in order to find one that a node serves. */
const MAX_TAGS = 200_000;

export interface SharedRedisOptions {
  readonly clock: Clock;
  /**
   * Tests that a server can do its work. A PING is not enough: read-only and full servers reply to it as well. The keys must
   * contain `{hashTag}`, so that they belong to the server.
   */
  readonly verify: (client: RedisClient, hashTag: string) => Promise<unknown>;
  /** How long Redis may send no reply before it is unavailable. */
  readonly silenceTimeoutMs: number;
  /** Called with each new state; the same state is not repeated. */
  readonly onStateChange?: ((state: RedisState) => void) | undefined;
  /** Called when a server becomes available, also if others of a cluster are still unavailable. */
  readonly onAvailable?: (() => void) | undefined;
}

export class RedisCluster {
  readonly #options: SharedRedisOptions;
  readonly #seeds: readonly string[];
  /** The URL of the master of each slot. */
  #masters: (string | undefined)[] = [];
  readonly #nodes = new Map<string, RedisConnection>();
  #state: RedisState = { state: "away", detail: "Redis Cluster is not connected yet" };
  /** Why the slots could not be read. */
  #problem: string | null = null;
  /** When the state became `away`. */
  #awaySince: number;
  #refreshing: Promise<void> | null = null;
  #timer: ClockTimer | null = null;
  #isClosed = false;
  readonly settled: Promise<void>;

  constructor(seeds: readonly string[], options: SharedRedisOptions) {
    this.#seeds = seeds;
    this.#options = options;
    this.#awaySince = options.clock.now();
    this.settled = this.#refresh();
  }

  get state(): RedisState {
    return this.#state;
  }

  /** Whether the master of a key is connected, or no command has been sent to it yet. */
  isConnectedFor(key: string): boolean {
    const master = this.#masters[slotOf(key)];
    if (master === undefined) return false;
    const node = this.#nodes.get(master);
    return node === undefined || node.isConnected || !node.isSettled;
  }

  sessionOf(key: string): RedisSession | null {
    return this.#nodes.get(this.#masters[slotOf(key)] ?? "")?.session ?? null;
  }

  /** The time of the clock of the last reply; null while the master is connected, or no command has been sent to it yet. */
  unavailableSince(key: string): number | null {
    if (this.isConnectedFor(key)) return null;
    return this.#nodes.get(this.#masters[slotOf(key)] ?? "")?.unavailableSince ?? this.#awaySince;
  }

  /** Rejects with RedisUnavailable if the master of the key does not reply, or with the error that it returned. */
  async send(key: string, command: string, args: RedisArguments): Promise<unknown> {
    const slot = slotOf(key);
    let url = this.#masters[slot];
    let isAsking = false;
    let triesAgain = 0;
    for (let redirections = 0; redirections <= MAX_REDIRECTIONS;) {
      if (url === undefined) break;
      try {
        const node = this.#nodeAt(url);
        if (!node.isSettled) await node.settled;
        return await node.send(command, args, isAsking);
      } catch (error) {
        if (error instanceof RedisUnavailable) throw error;
        const { message } = toError(error);
        const redirection = redirectionOf(message, url);
        if (redirection !== null) {
          redirections++;
          isAsking = redirection.kind === "ASK";
          url = redirection.url;
          if (!isAsking) this.#move(slot, url);
        } else if (message.startsWith("TRYAGAIN") && triesAgain++ < MAX_TRIES_AGAIN) {
          await this.#wait(TRY_AGAIN_MS);
          // The slot may be served by the other node by now.
          if (isAsking) [url, isAsking] = [this.#masters[slot], false];
        } else if (/^(TRYAGAIN|CLUSTERDOWN|MASTERDOWN|READONLY)/.test(message)) break;
        else throw error;
      }
    }
    this.#refreshSoon();
    throw new RedisUnavailable();
  }

  /** Drops the connection to the master of a key. `reason` follows "Redis at …". */
  disconnect(key: string, reason: string): void {
    const master = this.#masters[slotOf(key)];
    if (master !== undefined) this.#nodes.get(master)?.disconnect(reason);
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.close();
    for (const node of this.#nodes.values()) node.close();
    this.#nodes.clear();
  }

  #move(slot: number, url: string): void {
    if (this.#masters[slot] === url) return;
    this.#masters[slot] = url;
    this.#refreshSoon();
  }

  #nodeAt(url: string): RedisConnection {
    let node = this.#nodes.get(url);
    if (node !== undefined) return node;
    if (this.#isClosed) throw new RedisUnavailable();
    const { clock, silenceTimeoutMs, verify, onAvailable } = this.#options;
    node = new RedisConnection({
      url,
      clock,
      silenceTimeoutMs,
      verify: (client) => verify(client, this.#tagAt(url)),
      onStateChange: ({ state }) => {
        this.#updateState();
        if (state === "ok") onAvailable?.();
        else this.#refreshSoon();
      },
    });
    this.#nodes.set(url, node);
    return node;
  }

  /** Returns a hash tag of a slot that a node serves, to verify that it can do its work. */
  #tagAt(url: string): string {
    for (let tag = 0; tag < MAX_TAGS; tag++)
      if (this.#masters[slotOf(`proof-${tag}`)] === url) return `proof-${tag}`;
    this.#refreshSoon();
    throw new Error("it serves no slots");
  }

  /** Reads the slots once, REFRESH_MS from now. */
  #refreshSoon(): void {
    if (this.#timer !== null || this.#isClosed) return;
    this.#timer = this.#options.clock.setTimeout(() => {
      this.#timer = null;
      void this.#refresh();
    }, REFRESH_MS);
    this.#timer.unref();
  }

  #refresh(): Promise<void> {
    this.#refreshing ??= this.#readFromAny().finally(() => {
      this.#refreshing = null;
      if (this.#isClosed) return;
      this.#updateState();
      if (this.#state.state !== "ok") this.#refreshSoon();
    });
    return this.#refreshing;
  }

  /** Never rejects. A node that is out of touch with the cluster may have outdated slots: MOVED corrects them. */
  async #readFromAny(): Promise<void> {
    const connected = [...this.#nodes].filter(([, node]) => node.isConnected).map(([url]) => url);
    for (const url of new Set([...connected, ...this.#seeds, ...this.#nodes.keys()])) {
      if (this.#isClosed || (await this.#readFrom(url))) return;
    }
  }

  async #readFrom(url: string): Promise<boolean> {
    const { clock } = this.#options;
    const client = new RedisClient(url, { autoReconnect: false, connectionTimeout: READ_TIMEOUT_MS });
    try {
      const silent = () => new Error("does not respond");
      const ranges = await withTimeout(READ_TIMEOUT_MS, readSlots(client, url), silent, clock);
      if (ranges === null || ranges.length === 0) throw new Error("is not part of a cluster");
      const masters: (string | undefined)[] = Array.from({ length: SLOT_COUNT });
      for (const { first, last, url: master } of ranges) masters.fill(master, first, last + 1);
      this.#masters = masters;
      this.#problem = null;
      this.#closeUnused(new Set(masters));
      return true;
    } catch (error) {
      this.#problem = `Redis at ${hostOf(url)} cannot be used: ${toError(error).message}`;
      return false;
    } finally {
      client.close();
    }
  }

  #closeUnused(masters: ReadonlySet<string | undefined>): void {
    for (const [url, node] of this.#nodes) {
      // A node without slots may still be the target of a slot that is moved to it.
      if (masters.has(url) || node.isConnected) continue;
      this.#nodes.delete(url);
      node.close();
    }
  }

  #updateState(): void {
    const next = this.#currentState();
    if (next.state === this.#state.state && next.detail === this.#state.detail) return;
    if (this.#state.state === "ok") this.#awaySince = this.#options.clock.now();
    this.#state = next;
    this.#options.onStateChange?.(next);
  }

  #currentState(): RedisState {
    const unserved = SLOT_COUNT - this.#masters.filter((url) => url !== undefined).length;
    if (unserved === SLOT_COUNT)
      return { state: "away", detail: this.#problem ?? "Redis Cluster is not connected yet" };
    if (unserved > 0) return { state: "away", detail: `no node of Redis Cluster serves ${unserved} slots` };
    for (const [url, node] of this.#nodes) {
      const slots = this.#masters.filter((master) => master === url).length;
      if (!node.isSettled || node.isConnected || slots === 0) continue;
      return {
        state: "away",
        detail: `${node.state.detail ?? hostOf(url)} (${slots} of ${SLOT_COUNT} slots)`,
      };
    }
    return { state: "ok" };
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#options.clock.setTimeout(resolve, ms));
  }
}

/** Without credentials. */
function hostOf(url: string): string {
  return URL.parse(url)?.host ?? "REDIS_URL";
}
