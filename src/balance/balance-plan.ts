// Owns the choice of a target for one upstream under one configuration. A plan never changes; the state it reads and
// writes is shared with the plans before and after it, so a request may finish with the plan it began with.
import { pickLeastBusy } from "./least-connections.ts";
import { pickFastest, type RefreshPace } from "./lowest-latency.ts";
import { pickByHash } from "./rendezvous-hash.ts";
import { RetryBudget } from "./retry-budget.ts";
import { pickInTurn } from "./smooth-round-robin.ts";
import type { Contender } from "./target-state.ts";
import { pickAtRandom, type RandomSource } from "./weighted-random.ts";

export type Algorithm =
  "round-robin" | "weighted-round-robin" | "random" | "least-connections" | "lowest-latency" | "ip-hash";

export interface BalancedTarget {
  readonly id: string;
  /** 0 drains the target: nothing new is sent there. */
  readonly weight: number;
  /** The lower number serves first. */
  readonly priority: number;
}

export interface BalanceConfig {
  readonly algorithm: Algorithm;
  readonly targets: readonly BalancedTarget[];
  /** Passive health checks; false: no target is ever ejected. */
  readonly passive: boolean;
  /** Failures in a row that eject a target. */
  readonly threshold: number;
  readonly intervalMs: number;
}

export type TargetCondition = "healthy" | "ejected" | "probing" | "resting";

/** What an upstream shares between its plans besides its targets. */
export interface UpstreamShared {
  readonly retries: RetryBudget;
  readonly pace: RefreshPace;
  readonly random: RandomSource;
}

/** The targets this request has used up, null on the first attempt: a request without a retry allocates nothing. */
export type TriedTargets = readonly number[] | null;

// However long a provider asks for, a mistaken Retry-After must not drain a target for an hour.
export const LONGEST_REST_MS = 60_000;

/**
 * The life of an attempt, by the index of its target in config.targets:
 *
 *   const index = plan.pick(...)              and, in the same turn of the event loop (it may take the trial slot),
 *   const ticket = plan.started(index, now)
 *   plan.answered(index, ticket, ms, now)     when a good answer began
 *   plan.succeeded | failed | neutral(...)    one of them, at most once
 *   plan.ended(index, ticket)                 always, exactly once
 */
export class BalancePlan {
  readonly upstreamId: string;
  readonly config: BalanceConfig;
  readonly retries: RetryBudget;
  readonly contenders: readonly Contender[];
  readonly #shared: UpstreamShared;
  // Who is in the running during one pick. Picks are synchronous, so they can all use the same array.
  readonly #running: Contender[] = [];

  constructor(
    upstreamId: string,
    config: BalanceConfig,
    contenders: readonly Contender[],
    shared: UpstreamShared,
  ) {
    this.upstreamId = upstreamId;
    this.config = config;
    this.contenders = contenders;
    this.retries = shared.retries;
    this.#shared = shared;
  }

  /**
   * The index of the target to ask, -1 when none may be asked. `first` (the targets that serve the model) is
   * exhausted before `then`; within each the lowest tier that can serve does. Resting targets come after all others.
   */
  pick(
    first: readonly number[],
    then: readonly number[],
    tried: TriedTargets,
    clientHash: number,
    now: number,
  ): number {
    const count = this.#lineUp(first, then, tried, now);
    if (count > 0) return this.#choose(count, clientHash, now);
    const rested = this.#soonestRested(first, tried, now);
    return rested >= 0 ? rested : this.#soonestRested(then, tried, now);
  }

  /** Those among whom pick() would choose now, lined up as it would. */
  eligible(first: readonly number[], then: readonly number[], tried: TriedTargets, now: number): number[] {
    const count = this.#lineUp(first, then, tried, now);
    if (count > 0) return this.#running.slice(0, count).map(({ index }) => index);
    const rested = this.pick(first, then, tried, 0, now);
    return rested < 0 ? [] : [rested];
  }

  /** The same plan over copies of all state: whatever is picked and reported there, nothing here has moved. */
  rehearsal(): BalancePlan {
    const contenders = this.contenders.map((contender) => ({ ...contender, state: contender.state.copy() }));
    const { pace, random } = this.#shared;
    const shared = { retries: new RetryBudget(), pace: pace.copy(), random };
    return new BalancePlan(this.upstreamId, this.config, contenders, shared);
  }

  /** The request goes out. The ticket belongs to the reports that follow. */
  started(index: number, now: number): number {
    const { state } = this.#at(index);
    state.inFlight++;
    state.latency.started(now);
    return this.config.passive ? state.health.start(this.config.intervalMs, now) : 0;
  }

  /**
   * A good answer (2xx) began. Not for errors: a target that refuses at once is not a fast one. True when this
   * brought an ejected target back.
   */
  answered(index: number, ticket: number, firstByteMs: number, now: number): boolean {
    const { state } = this.#at(index);
    const cameBack = this.config.passive && state.health.answered(ticket, this.config.threshold);
    state.latency.measured(firstByteMs, now);
    return cameBack;
  }

  /** The answer is complete. True when this brought an ejected target back. */
  succeeded(index: number, ticket: number): boolean {
    return this.config.passive && this.#at(index).state.health.succeeded(ticket);
  }

  /** Cannot connect, no first byte in time, 5xx, stream cut. True when this took the target out. */
  failed(index: number, ticket: number, now: number): boolean {
    const { state } = this.#at(index);
    state.latency.failed();
    if (!this.config.passive) return false;
    const { threshold, intervalMs } = this.config;
    const wasEjected = state.health.failed(ticket, threshold, intervalMs, now);
    if (wasEjected) {
      state.ejections++;
      state.latency.forget();
    }
    return wasEjected;
  }

  /** 4xx, or the client left: says nothing of the target's health, but frees the trial slot. */
  neutral(index: number, ticket: number): void {
    if (this.config.passive) this.#at(index).state.health.release(ticket);
  }

  /** The request is over, however it went; frees the trial slot when no report did. */
  ended(index: number, ticket: number): void {
    const { state } = this.#at(index);
    // Below zero a target would look emptier than it can be and draw everything.
    if (state.inFlight > 0) state.inFlight--;
    if (this.config.passive) state.health.release(ticket);
  }

  /** 429 with Retry-After. The later of two deadlines holds; 60 seconds at most. */
  rest(index: number, forMs: number, now: number): void {
    const { state } = this.#at(index);
    const until = now + Math.min(forMs, LONGEST_REST_MS);
    if (until > state.restUntil) state.restUntil = until;
  }

  /** Time until the first target may be asked again; for the 503 after pick() found none. */
  retryAfterMs(first: readonly number[], then: readonly number[], now: number): number {
    const soonest = Math.min(this.#soonestServing(first, now), this.#soonestServing(then, now));
    // All are drained: only a new configuration helps, and nobody knows when.
    return soonest === Infinity ? this.config.intervalMs : soonest;
  }

  state(index: number, now: number): TargetCondition {
    const { state } = this.#at(index);
    const condition = this.config.passive ? state.health.state(now) : "healthy";
    return condition === "healthy" && now < state.restUntil ? "resting" : condition;
  }

  #lineUp(first: readonly number[], then: readonly number[], tried: TriedTargets, now: number): number {
    const count = this.#line(first, tried, now);
    return count > 0 ? count : this.#line(then, tried, now);
  }

  /** Lines up the eligible targets of the lowest tier that has any; their number. */
  #line(candidates: readonly number[], tried: TriedTargets, now: number): number {
    let count = 0;
    let tier = Infinity;
    for (const index of candidates) {
      const contender = this.#at(index);
      if (contender.priority > tier || now < contender.state.restUntil) continue;
      if (!this.#mayServe(contender, tried, now)) continue;
      if (contender.priority < tier) {
        tier = contender.priority;
        count = 0;
      }
      this.#running[count++] = contender;
    }
    return count;
  }

  #choose(count: number, clientHash: number, now: number): number {
    const running = this.#running;
    if (count === 1) return (running[0] as Contender).index;
    switch (this.config.algorithm) {
      case "round-robin":
      case "weighted-round-robin":
        return pickInTurn(running, count);
      case "random":
        return pickAtRandom(running, count, this.#shared.random);
      case "least-connections":
        return pickLeastBusy(running, count);
      case "lowest-latency":
        return pickFastest(running, count, this.#shared.pace, now);
      case "ip-hash":
        return pickByHash(running, count, clientHash);
    }
  }

  /** Asked only when nobody else can serve; ties go to the lower tier. */
  #soonestRested(candidates: readonly number[], tried: TriedTargets, now: number): number {
    let winner = -1;
    let soonest = Infinity;
    let tier = Infinity;
    for (const index of candidates) {
      const contender = this.#at(index);
      const until = contender.state.restUntil;
      if (until > soonest || (until === soonest && contender.priority >= tier)) continue;
      if (!this.#mayServe(contender, tried, now)) continue;
      winner = index;
      soonest = until;
      tier = contender.priority;
    }
    return winner;
  }

  #soonestServing(candidates: readonly number[], now: number): number {
    let soonest = Infinity;
    for (const index of candidates) {
      const contender = this.#at(index);
      if (contender.weight <= 0) continue;
      const wait = this.config.passive ? contender.state.health.waitMs(now) : 0;
      if (wait < soonest) soonest = wait;
    }
    return soonest;
  }

  #mayServe(contender: Contender, tried: TriedTargets, now: number): boolean {
    if (contender.weight <= 0) return false;
    if (tried !== null && tried.includes(contender.index)) return false;
    return !this.config.passive || contender.state.health.canServe(now);
  }

  #at(index: number): Contender {
    const contender = this.contenders[index];
    if (contender === undefined) {
      throw new RangeError(`Upstream ${this.upstreamId} has no target number ${index}`);
    }
    return contender;
  }
}
