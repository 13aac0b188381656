// Selects targets for one upstream with one configuration. A plan never changes. The state that it reads and writes is
// shared with earlier and later plans of the upstream, so a request can finish with the plan that it started with.
import type { HedgeState } from "./hedge-state.ts";
import { pickLeastConnections } from "./least-connections.ts";
import { pickLowestLatency, type RemeasurePace } from "./lowest-latency.ts";
import { pickByHash } from "./rendezvous-hash.ts";
import { RetryBudget } from "./retry-budget.ts";
import { pickRoundRobin } from "./smooth-round-robin.ts";
import type { Contender } from "./target-state.ts";
import { pickRandom, type RandomSource } from "./weighted-random.ts";

export type Algorithm =
  "round-robin" | "weighted-round-robin" | "random" | "least-connections" | "lowest-latency" | "ip-hash";

export interface BalancedTarget {
  readonly id: string;
  /** 0 drains the target: it gets no new requests. */
  readonly weight: number;
  /** Targets with the lowest number are used first; those with the same number are a tier. */
  readonly priority: number;
}

export interface BalanceConfig {
  readonly algorithm: Algorithm;
  readonly targets: readonly BalancedTarget[];
  /** Passive health checks. If false, no target is ever ejected. */
  readonly passive: boolean;
  /** Consecutive failures that eject a target. */
  readonly threshold: number;
  readonly intervalMs: number;
}

export type TargetCondition = "healthy" | "ejected" | "probing" | "resting";

/** The state of an upstream, besides its targets, that its plans share. */
export interface UpstreamBalanceState {
  readonly retries: RetryBudget;
  readonly remeasurePace: RemeasurePace;
  /** Created when it is first needed. */
  readonly hedging: () => HedgeState;
  readonly random: RandomSource;
}

/** The targets that this request has already used. Null on the first attempt, so that most requests allocate nothing. */
type TriedTargets = readonly number[] | null;

/** Limit for the Retry-After of a provider: a wrong value must not take a target out for an hour. */
const MAX_REST_MS = 60_000;

/**
 * An attempt, by the index of its target in config.targets:
 *
 *   const index = plan.pick(...)                    and, in the same turn of the event loop (it may take the trial slot),
 *   const ticket = plan.startAttempt(index, now)
 *   plan.recordResponse(index, ticket, ms, now)     when the headers of a 2xx response have arrived
 *   plan.recordSuccess | recordFailure | recordNeutral(...)    one of them, at most once
 *   plan.endAttempt(index, ticket)                  always, exactly once
 */
export class BalancePlan {
  readonly upstreamId: string;
  readonly config: BalanceConfig;
  readonly retries: RetryBudget;
  readonly contenders: readonly Contender[];
  readonly #shared: UpstreamBalanceState;
  /** The contenders of one pick. Picks are synchronous, so that all of them can use the same array. */
  readonly #eligible: Contender[] = [];

  constructor(
    upstreamId: string,
    config: BalanceConfig,
    contenders: readonly Contender[],
    shared: UpstreamBalanceState,
  ) {
    this.upstreamId = upstreamId;
    this.config = config;
    this.contenders = contenders;
    this.retries = shared.retries;
    this.#shared = shared;
  }

  get hedging(): HedgeState {
    return this.#shared.hedging();
  }

  /**
   * Returns the index of the target for the next attempt, or -1 if no target is available. The targets of `first` (those
   * that serve the model) are used before those of `then`, and in each the lowest available tier. Resting targets are
   * used only if there is no other.
   */
  pick(
    first: readonly number[],
    then: readonly number[],
    tried: TriedTargets,
    clientHash: number,
    now: number,
  ): number {
    if (this.#collectEligible(first, then, tried, now)) return this.#choose(clientHash, now);
    const resting = this.#findSoonestRested(first, tried, now);
    return resting >= 0 ? resting : this.#findSoonestRested(then, tried, now);
  }

  /** Returns the targets among which `pick` would choose now. */
  eligible(first: readonly number[], then: readonly number[], tried: TriedTargets, now: number): number[] {
    if (this.#collectEligible(first, then, tried, now)) return this.#eligible.map(({ index }) => index);
    const resting = this.pick(first, then, tried, 0, now);
    return resting < 0 ? [] : [resting];
  }

  /** Whether one of the targets is available now, or one that is resting, or none. */
  availability(candidates: readonly number[], now: number): "available" | "resting" | "none" {
    let found: "resting" | "none" = "none";
    for (const index of candidates) {
      const contender = this.#at(index);
      if (!this.#isAvailable(contender, null, now)) continue;
      if (now >= contender.state.restUntil) return "available";
      found = "resting";
    }
    return found;
  }

  /** Returns the same plan with copies of all state: its picks and reports do not change this plan. */
  simulation(): BalancePlan {
    const contenders = this.contenders.map((contender) => ({ ...contender, state: contender.state.copy() }));
    const { remeasurePace, random, hedging: original } = this.#shared;
    let copied: HedgeState | null = null;
    const hedging = () => (copied ??= original().copy());
    const shared = { retries: new RetryBudget(), remeasurePace: remeasurePace.copy(), random, hedging };
    return new BalancePlan(this.upstreamId, this.config, contenders, shared);
  }

  /** The request is sent. Pass the returned ticket to the reports of this attempt. */
  startAttempt(index: number, now: number): number {
    const { state } = this.#at(index);
    state.inFlight++;
    state.latency.recordStart(now);
    return this.config.passive ? state.health.startAttempt(this.config.intervalMs, now) : 0;
  }

  /**
   * The headers of a 2xx response have arrived. Not for errors: a target that rejects requests immediately is not fast.
   * Returns whether this ended an ejection.
   */
  recordResponse(index: number, ticket: number, firstByteMs: number, now: number): boolean {
    const { state } = this.#at(index);
    const isReadmitted = this.config.passive && state.health.recordResponse(ticket, this.config.threshold);
    state.latency.recordFirstByte(firstByteMs, now);
    return isReadmitted;
  }

  /** The response is complete. Returns whether this ended an ejection. */
  recordSuccess(index: number, ticket: number): boolean {
    const { state } = this.#at(index);
    state.failuresInRow = 0;
    return this.config.passive && state.health.recordSuccess(ticket);
  }

  /** No connection, no first byte in time, 5xx, or an incomplete response. Returns whether this ejected the target. */
  recordFailure(index: number, ticket: number, now: number): boolean {
    const { state } = this.#at(index);
    state.latency.recordFailure();
    state.failuresInRow = (state.failuresInRow ?? 0) + 1;
    if (!this.config.passive) return false;
    const { threshold, intervalMs } = this.config;
    const isEjected = state.health.recordFailure(ticket, threshold, intervalMs, now);
    if (isEjected) {
      state.ejections++;
      state.latency.reset();
    }
    return isEjected;
  }

  /** The attempt was aborted because another one was faster: a slow target must not stay the one with the lowest latency. */
  recordSlow(index: number, elapsedMs: number, now: number): void {
    const { latency } = this.#at(index).state;
    if (elapsedMs > latency.averageMs) latency.recordFirstByte(elapsedMs, now);
  }

  /** 4xx, or the client disconnected: not evidence for or against the target's health. Frees the trial slot. */
  recordNeutral(index: number, ticket: number): void {
    if (this.config.passive) this.#at(index).state.health.release(ticket);
  }

  /** The attempt is over, with or without a report. */
  endAttempt(index: number, ticket: number): void {
    const { state } = this.#at(index);
    // A negative number would make the target look idle and attract every request.
    if (state.inFlight > 0) state.inFlight--;
    if (this.config.passive) state.health.release(ticket);
  }

  /** The provider sent a 429 with Retry-After. The later of two times applies, at most 60 seconds from now. */
  rest(index: number, forMs: number, now: number): void {
    const { state } = this.#at(index);
    const until = now + Math.min(forMs, MAX_REST_MS);
    if (until > state.restUntil) state.restUntil = until;
  }

  /** Returns the time until the first target is available again, for the Retry-After of a 503. */
  retryAfterMs(first: readonly number[], then: readonly number[], now: number): number {
    const soonest = Math.min(this.#soonestAvailable(first, now), this.#soonestAvailable(then, now));
    // All targets are drained: only a configuration change helps, and its time is unknown.
    return soonest === Infinity ? this.config.intervalMs : soonest;
  }

  state(index: number, now: number): TargetCondition {
    const { state } = this.#at(index);
    const condition = this.config.passive ? state.health.state(now) : "healthy";
    return condition === "healthy" && now < state.restUntil ? "resting" : condition;
  }

  /** Fills `#eligible`. Returns whether there is any eligible target. */
  #collectEligible(
    first: readonly number[],
    then: readonly number[],
    tried: TriedTargets,
    now: number,
  ): boolean {
    return this.#collectLowestTier(first, tried, now) || this.#collectLowestTier(then, tried, now);
  }

  #collectLowestTier(candidates: readonly number[], tried: TriedTargets, now: number): boolean {
    const eligible = this.#eligible;
    eligible.length = 0;
    let tier = Infinity;
    for (const index of candidates) {
      const contender = this.#at(index);
      if (contender.priority > tier || now < contender.state.restUntil) continue;
      if (!this.#isAvailable(contender, tried, now)) continue;
      if (contender.priority < tier) {
        tier = contender.priority;
        eligible.length = 0;
      }
      eligible.push(contender);
    }
    return eligible.length > 0;
  }

  #choose(clientHash: number, now: number): number {
    const eligible = this.#eligible;
    const [only] = eligible;
    if (eligible.length === 1 && only !== undefined) return only.index;
    switch (this.config.algorithm) {
      case "round-robin":
      case "weighted-round-robin":
        return pickRoundRobin(eligible);
      case "random":
        return pickRandom(eligible, this.#shared.random);
      case "least-connections":
        return pickLeastConnections(eligible);
      case "lowest-latency":
        return pickLowestLatency(eligible, this.#shared.remeasurePace, now);
      case "ip-hash":
        return pickByHash(eligible, clientHash);
    }
  }

  /** Returns the resting target whose rest ends first; among equals that of the lower tier. */
  #findSoonestRested(candidates: readonly number[], tried: TriedTargets, now: number): number {
    let found = -1;
    let soonest = Infinity;
    let tier = Infinity;
    for (const index of candidates) {
      const contender = this.#at(index);
      const until = contender.state.restUntil;
      if (until > soonest || (until === soonest && contender.priority >= tier)) continue;
      if (!this.#isAvailable(contender, tried, now)) continue;
      found = index;
      soonest = until;
      tier = contender.priority;
    }
    return found;
  }

  #soonestAvailable(candidates: readonly number[], now: number): number {
    let soonest = Infinity;
    for (const index of candidates) {
      const contender = this.#at(index);
      if (contender.weight <= 0) continue;
      const wait = this.config.passive ? contender.state.health.waitMs(now) : 0;
      if (wait < soonest) soonest = wait;
    }
    return soonest;
  }

  #isAvailable(contender: Contender, tried: TriedTargets, now: number): boolean {
    if (contender.weight <= 0) return false;
    if (tried !== null && tried.includes(contender.index)) return false;
    return !this.config.passive || contender.state.health.canServe(now);
  }

  #at(index: number): Contender {
    const contender = this.contenders[index];
    if (contender === undefined)
      throw new RangeError(`upstream ${this.upstreamId} has no target with index ${index}`);
    return contender;
  }
}
