// Owns the counters that processes and nodes share: one script call in Redis a request, by Redis's clock, and the
// decision without Redis when it is away.
import type { RedisClient } from "bun";
import { systemClock, type Clock } from "../base/clock.ts";
import {
  decideUncounted,
  type UnavailablePolicy,
  type Counters,
  type CountersState,
  type Decision,
  type Limit,
} from "./counters.ts";
import { ExhaustedLimits } from "./exhausted-limits.ts";
import { MemoryCounters } from "./memory.ts";
import { RedisUnavailable, RedisConnection } from "./redis-connection.ts";
import {
  ADMIT_SCRIPT,
  ADMIT_SHA,
  PEEK_SCRIPT,
  readReply,
  redisKey,
  scriptArguments,
} from "./redis-script.ts";

export interface RedisOptions {
  /** Called when Redis is lost, found, or in trouble of another kind: a log line and a metric. */
  readonly onStateChange?: (state: CountersState) => void;
  /** Bound on the keys of this node's own log. */
  readonly maxKeys?: number;
  /** How long Redis may be silent. */
  readonly silentMs?: number;
  /** The clock of this process, for what it does while Redis is silent or unavailable. */
  readonly clock?: Clock;
  /** Milliseconds to use instead of Redis's clock, so that tests can drive the very script of production. */
  readonly time?: () => number;
}

/** Clears that Redis has not heard of yet. More than this at once means that nobody will miss the rest. */
const MAX_OWED_CLEARS = 10_000;
const PROOF_WINDOW_MS = 1000;

/**
 * Exact over any number of processes while Redis answers. What cannot be: a request that was decided without Redis
 * because Redis fell silent may yet be counted there when Redis wakes up and reads it. Redis then counts one request
 * too many for the rest of the window, never one too few.
 */
export class RedisCounters implements Counters {
  readonly #link: RedisConnection;
  readonly #clock: Clock;
  readonly #local: MemoryCounters;
  readonly #time: () => number;
  readonly #knownFull = new ExhaustedLimits();
  readonly #owedClears = new Set<string>();

  constructor(url: string, options: RedisOptions = {}) {
    const { clock = systemClock, maxKeys } = options;
    this.#clock = clock;
    this.#local = new MemoryCounters({ clock, ...(maxKeys !== undefined && { maxKeys }) });
    this.#time = options.time ?? (() => 0);
    this.#link = new RedisConnection({
      url,
      clock,
      prove: (client) => this.#prove(client),
      silentMs: options.silentMs,
      onStateChange: options.onStateChange,
    });
  }

  get state(): CountersState {
    return this.#link.state;
  }

  /** Resolves when Redis has been found or not: a server that waits for it counts exactly from its first request. */
  get settled(): Promise<void> {
    return this.#link.settled;
  }

  admit(limits: readonly Limit[], policy: UnavailablePolicy): Decision | Promise<Decision> {
    return this.#link.isUp ? this.#ask(limits, policy) : this.#decideAlone(limits, policy, true);
  }

  async peek(limits: readonly Limit[], policy: UnavailablePolicy): Promise<Decision> {
    if (!this.#link.isUp) return this.#decideAlone(limits, policy, false);
    try {
      // By its text: it is asked so seldom that a script to be kept in Redis would only be in the way.
      const words = [PEEK_SCRIPT, ...scriptArguments(limits, this.#time())];
      const decision = readReply(await this.#link.send("EVAL", words), limits);
      if (decision === null) throw new Error("an answer that is none of the script's");
      return decision;
    } catch (error) {
      this.#lose(error);
      return this.#decideAlone(limits, policy, false);
    }
  }

  async clear(key: string): Promise<void> {
    this.#local.clear(key);
    this.#knownFull.forget(key);
    try {
      await this.#link.send("DEL", [redisKey(key)]);
    } catch (error) {
      this.#lose(error);
      if (this.#owedClears.size < MAX_OWED_CLEARS) this.#owedClears.add(redisKey(key));
    }
  }

  close(): Promise<void> {
    this.#link.close();
    return Promise.resolve();
  }

  async #ask(limits: readonly Limit[], policy: UnavailablePolicy): Promise<Decision> {
    try {
      const words = scriptArguments(limits, this.#time());
      const decision = readReply(await this.#evaluate(words), limits);
      if (decision === null) throw new Error("an answer that is none of the script's");
      if (policy === "local") this.#follow(decision, limits);
      return decision;
    } catch (error) {
      this.#lose(error);
      return this.#decideAlone(limits, policy, true);
    }
  }

  async #evaluate(words: string[]): Promise<unknown> {
    try {
      return await this.#link.send("EVALSHA", [ADMIT_SHA, ...words]);
    } catch (error) {
      if (!(error as Error).message.startsWith("NOSCRIPT")) throw error;
      // Redis was restarted or its scripts flushed. The text does the same and puts the script back.
      return await this.#link.send("EVAL", [ADMIT_SCRIPT, ...words]);
    }
  }

  /** Redis that answers but cannot count (read-only, out of memory, loading) is away too. */
  #lose(error: unknown): void {
    if (!(error instanceof RedisUnavailable)) this.#link.lose(`answers: ${(error as Error).message}`);
  }

  /** Keeps this node's own log going, so that it goes on from here when Redis is lost: nobody gets a second allowance. */
  #follow({ admitted, states }: Decision, limits: readonly Limit[]): void {
    if (admitted) this.#local.record(limits);
    else
      for (const [at, limit] of limits.entries()) {
        const state = states[at];
        if (state !== undefined && state.waitMs > 0) this.#knownFull.record(limit, state, this.#clock.now());
      }
  }

  #decideAlone(limits: readonly Limit[], policy: UnavailablePolicy, counts: boolean): Decision {
    if (policy !== "local") return decideUncounted(limits, policy, this.#clock.unixNow());
    const known = limits.map((limit) => this.#knownFull.stateOf(limit, this.#clock.now()));
    const refused = known.some((state) => state !== null);
    const decide = refused ? "look" : counts ? "admit" : "peek";
    const { states: own, ...decision } = this.#local[decide](limits);
    const states = own.map((state, at) => known[at] ?? state);
    const refusedBy = refused ? states.findIndex(({ waitMs }) => waitMs > 0) : decision.refusedBy;
    return { admitted: decision.admitted && !refused, refusedBy, states, source: "local" };
  }

  /** A real decision on a key of its own, always admitted and therefore written; it loads the script as well. */
  async #prove(client: RedisClient): Promise<void> {
    const limit = { key: `proof ${crypto.randomUUID()}`, limit: 1, windowMs: PROOF_WINDOW_MS };
    const reply: unknown = await client.send("EVAL", [ADMIT_SCRIPT, ...scriptArguments([limit], 0)]);
    if (readReply(reply, [limit])?.admitted !== true)
      throw new Error("an answer that is none of the script's");
    const owed = [...this.#owedClears];
    if (owed.length > 0) await client.send("DEL", owed);
    for (const key of owed) this.#owedClears.delete(key);
  }
}
