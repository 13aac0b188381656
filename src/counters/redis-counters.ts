// Counters that processes and nodes share: one script call in Redis per request, by Redis's clock, and the decision
// without Redis while it is unavailable.
import type { RedisClient } from "bun";
import { systemClock, type Clock } from "../base/clock.ts";
import { toError } from "../base/to-error.ts";
import { REDIS_SILENT_MS } from "../config/settings.ts";
import { RedisConnection, RedisUnavailable } from "../redis/redis-connection.ts";
import { EXACT_LIMIT } from "./bucket-log.ts";
import {
  decideUncounted,
  type UnavailablePolicy,
  type Counters,
  type CountersByGateway,
  type CountersState,
  type Decision,
  type Limit,
  type LimitState,
} from "./counters.ts";
import { ExhaustedLimits } from "./exhausted-limits.ts";
import { MemoryCounters } from "./memory-counters.ts";
import {
  ADMIT_SCRIPT,
  ADMIT_SHA,
  PEEK_SCRIPT,
  parseReply,
  redisKey,
  scriptArguments,
} from "./redis-script.ts";

interface RedisCountersOptions {
  /** Called when Redis becomes available or unavailable, or the reason changes. */
  readonly onStateChange?: (state: CountersState) => void;
  /** Maximum number of keys in the local counters. */
  readonly maxKeys?: number;
  /** Instead of EXACT_LIMIT, for tests. */
  readonly exactLimit?: number;
  /** How long Redis may send no reply before it is unavailable. */
  readonly silenceTimeoutMs?: number;
  /** The clock of this process, for decisions without Redis and for timeouts. */
  readonly clock?: Clock;
  /** Milliseconds to use instead of Redis's clock, so that tests can control the time of the production script. */
  readonly time?: () => number;
}

/** Keys to clear in Redis when it is available again. Beyond this number they are dropped, and expire by themselves. */
const MAX_PENDING_CLEARS = 10_000;
const VERIFY_WINDOW_MS = 1000;
/** For counters of no gateway: to verify the connection, and in tests. */
const NO_GATEWAY = "none";

/**
 * Exact for any number of processes while Redis replies. One case cannot be exact: a request that was decided without
 * Redis, because it stopped replying, may still be counted there when Redis continues. Redis then counts one request too
 * many for the rest of the window, never one too few.
 */
export class RedisCounters implements Counters, CountersByGateway {
  readonly #connection: RedisConnection;
  readonly #clock: Clock;
  readonly #local: MemoryCounters;
  readonly #time: () => number;
  readonly #exactLimit: number;
  readonly #exhausted = new ExhaustedLimits();
  readonly #pendingClears = new Set<string>();

  constructor(url: string, options: RedisCountersOptions = {}) {
    const { clock = systemClock, maxKeys, exactLimit = EXACT_LIMIT } = options;
    this.#clock = clock;
    this.#exactLimit = exactLimit;
    this.#local = new MemoryCounters({ clock, exactLimit, ...(maxKeys !== undefined && { maxKeys }) });
    this.#time = options.time ?? (() => 0);
    this.#connection = new RedisConnection({
      url,
      clock,
      verify: (client) => this.#verify(client),
      silenceTimeoutMs: options.silenceTimeoutMs ?? REDIS_SILENT_MS,
      onStateChange: options.onStateChange,
    });
  }

  get state(): CountersState {
    return this.#connection.state;
  }

  /** Resolves when the first connection attempt is over. A server that waits for it counts exactly from the start. */
  get settled(): Promise<void> {
    return this.#connection.settled;
  }

  forGateway(gatewayId: string): Counters {
    const state = () => this.state;
    return {
      admit: (limits, policy) => this.admit(limits, policy, gatewayId),
      peek: (limits, policy) => this.peek(limits, policy, gatewayId),
      knownRejection: (limits) => this.knownRejection(limits),
      clear: (key) => this.clear(key, gatewayId),
      get state() {
        return state();
      },
      close: () => this.close(),
    };
  }

  admit(
    limits: readonly Limit[],
    policy: UnavailablePolicy,
    gatewayId = NO_GATEWAY,
  ): Decision | Promise<Decision> {
    return this.#connection.isConnected
      ? this.#admitInRedis(limits, policy, gatewayId)
      : this.#decideWithoutRedis(limits, policy, true);
  }

  async peek(limits: readonly Limit[], policy: UnavailablePolicy, gatewayId = NO_GATEWAY): Promise<Decision> {
    if (!this.#connection.isConnected) return this.#decideWithoutRedis(limits, policy, false);
    try {
      // Sent as text: it is too rare to keep a second script in Redis.
      const args = [PEEK_SCRIPT, ...this.#argumentsFor(limits, gatewayId)];
      return requireDecision(await this.#connection.send("EVAL", args), limits);
    } catch (error) {
      this.#disconnectAfter(error);
      return this.#decideWithoutRedis(limits, policy, false);
    }
  }

  knownRejection(limits: readonly Limit[]): Decision | null {
    const exhausted = this.#exhaustedStates(limits);
    return exhausted.every((state) => state === null) ? null : this.#rejection(limits, exhausted);
  }

  async clear(key: string, gatewayId = NO_GATEWAY): Promise<void> {
    const name = redisKey(gatewayId, key);
    this.#local.clear(key);
    this.#exhausted.forget(key);
    try {
      await this.#connection.send("DEL", [name]);
    } catch (error) {
      this.#disconnectAfter(error);
      if (this.#pendingClears.size < MAX_PENDING_CLEARS) this.#pendingClears.add(name);
    }
  }

  close(): Promise<void> {
    this.#connection.close();
    return Promise.resolve();
  }

  #argumentsFor(limits: readonly Limit[], gatewayId: string): string[] {
    return scriptArguments({ gatewayId, limits, timeMs: this.#time(), exactLimit: this.#exactLimit });
  }

  async #admitInRedis(
    limits: readonly Limit[],
    policy: UnavailablePolicy,
    gatewayId: string,
  ): Promise<Decision> {
    try {
      const reply = await this.#runAdmitScript(this.#argumentsFor(limits, gatewayId));
      const decision = requireDecision(reply, limits);
      this.#mirror(decision, limits, policy);
      return decision;
    } catch (error) {
      this.#disconnectAfter(error);
      return this.#decideWithoutRedis(limits, policy, true);
    }
  }

  async #runAdmitScript(args: string[]): Promise<unknown> {
    try {
      return await this.#connection.send("EVALSHA", [ADMIT_SHA, ...args]);
    } catch (error) {
      if (!toError(error).message.startsWith("NOSCRIPT")) throw error;
      // Redis was restarted, or its scripts were flushed. EVAL does the same and caches the script again.
      return await this.#connection.send("EVAL", [ADMIT_SCRIPT, ...args]);
    }
  }

  /** A Redis that replies but cannot count (read-only, out of memory, loading) is unavailable too. */
  #disconnectAfter(error: unknown): void {
    if (!(error instanceof RedisUnavailable))
      this.#connection.disconnect(`returned an error: ${toError(error).message}`);
  }

  /** Updates the local counters, so that clients do not get the local limit in addition when Redis becomes unavailable. */
  #mirror({ admitted, states }: Decision, limits: readonly Limit[], policy: UnavailablePolicy): void {
    if (!admitted)
      for (const [position, limit] of limits.entries()) {
        const state = states[position];
        if (state !== undefined && state.waitMs > 0) this.#exhausted.record(limit, state, this.#clock.now());
      }
    else if (policy === "local") this.#local.record(limits);
  }

  #decideWithoutRedis(limits: readonly Limit[], policy: UnavailablePolicy, counts: boolean): Decision {
    if (policy !== "local") return decideUncounted(limits, policy, this.#clock.unixNow());
    const exhausted = this.#exhaustedStates(limits);
    if (exhausted.every((state) => state === null)) {
      const decision = counts ? this.#local.admit(limits) : this.#local.peek(limits);
      return { ...decision, source: "local" };
    }
    return this.#rejection(limits, exhausted);
  }

  /** Returns the state of each limit that Redis reported as exhausted, and null for the others. */
  #exhaustedStates(limits: readonly Limit[]): (LimitState | null)[] {
    const now = this.#clock.now();
    return limits.map((limit) => this.#exhausted.stateOf(limit, now));
  }

  #rejection(limits: readonly Limit[], exhausted: readonly (LimitState | null)[]): Decision {
    const states = this.#local.inspect(limits).states.map((state, position) => exhausted[position] ?? state);
    const refusedBy = states.findIndex(({ waitMs }) => waitMs > 0);
    return { admitted: false, refusedBy, states, source: "local" };
  }

  /** Admits a request with a new key, which tests that Redis can write, and loads the script. */
  async #verify(client: RedisClient): Promise<void> {
    const limit = { key: `proof ${crypto.randomUUID()}`, limit: 1, windowMs: VERIFY_WINDOW_MS };
    const call = { gatewayId: NO_GATEWAY, limits: [limit], timeMs: 0, exactLimit: EXACT_LIMIT };
    const reply: unknown = await client.send("EVAL", [ADMIT_SCRIPT, ...scriptArguments(call)]);
    if (!requireDecision(reply, [limit]).admitted) throw new Error("the admit script rejected a new key");
    const pending = [...this.#pendingClears];
    if (pending.length > 0) await client.send("DEL", pending);
    for (const key of pending) this.#pendingClears.delete(key);
  }
}

function requireDecision(reply: unknown, limits: readonly Limit[]): Decision {
  const decision = parseReply(reply, limits);
  if (decision === null) throw new Error("unexpected reply of the rate limit script");
  return decision;
}
