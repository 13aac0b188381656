// The way of one request through a virtual model and its fallbacks: which targets may serve it, and which is next.
import type { BalancePlan } from "../../balance/balance-plan.ts";
import { pickByAffinity } from "../../balance/cache-affinity.ts";
import type { ChainEntry, ServedModel } from "../../snapshot/compile-virtual-models.ts";
import type { Candidates } from "../../snapshot/compile-upstream.ts";
import type { CompiledRule } from "../../snapshot/compiled-rule.ts";
import type { FallbackReason } from "../../model/virtual-model.ts";
import { legsOf, type EligibleLeg, type Leg } from "./leg.ts";

/** Other targets of the same virtual model are tried after these. */
const SAME_MODEL: ReadonlySet<FallbackReason> = new Set(["unavailable", "rate_limited"]);

/** Why a virtual model was left, and for which. */
interface Fallback {
  readonly name: string;
  readonly reason: FallbackReason;
}

interface ActiveLeg {
  readonly leg: EligibleLeg;
  readonly plan: BalancePlan;
  readonly ticket: number;
  readonly startedAt: number;
}

export class VirtualRoute {
  /** The model that the client requested. */
  readonly requested: string;
  readonly chain: readonly ChainEntry[];
  /** All targets of each virtual model of the chain. */
  readonly legs: readonly (readonly Leg[])[];
  /** Those that may serve the request; set by `selectTargets`. */
  eligible: readonly (readonly EligibleLeg[])[] = [];
  /** Of the conversation, for virtual models that keep it at one target. */
  conversationHash = 0;
  /** The last fallback; null if the requested virtual model is in use. */
  fallback: Fallback | null = null;
  readonly #visited = new Set([0]);
  readonly #tried = new Set<Leg>();
  #place = 0;
  #active: ActiveLeg | null = null;
  /** Targets of virtual models with a canary that have failed, or a canary that was not available. */
  readonly failures: EligibleLeg[] = [];
  /** The last target that the request was sent to. */
  lastLeg: EligibleLeg | null = null;
  /** Copies of plans, if nothing may change; null when serving. */
  #planFor: ((plan: BalancePlan) => BalancePlan) | null = null;

  constructor(requested: string, chain: readonly ChainEntry[], rule: CompiledRule) {
    this.requested = requested;
    this.chain = chain;
    this.legs = legsOf(chain, rule);
  }

  /** The virtual model with the requested name. */
  get model(): ServedModel {
    const [first] = this.chain;
    if (first === undefined) throw new Error("the chain of a virtual model is empty");
    return first.model;
  }

  /** Uses copies of balancing state, which `planOf` returns. */
  usePlans(planOf: (plan: BalancePlan) => BalancePlan): void {
    this.#planFor = planOf;
  }

  /** Makes picks from copies of all balancing state, which a real request does not see. */
  simulate(): void {
    const copies = new Map<BalancePlan, BalancePlan>();
    this.usePlans((plan) => {
      let copy = copies.get(plan);
      if (copy === undefined) copies.set(plan, (copy = plan.simulation()));
      return copy;
    });
  }

  /** Whether a fallback could be used for the reason. */
  mayFallBackOn(reason: FallbackReason): boolean {
    return this.chain.some((_, place) => this.#isReachable(place, reason));
  }

  /** Leaves the virtual model in use for one that has eligible targets. Returns false if there is none. */
  fallBack(reason: FallbackReason): boolean {
    for (const [place, { name }] of this.chain.entries()) {
      if (!this.#isReachable(place, reason)) continue;
      this.#visited.add(place);
      if ((this.eligible[place]?.length ?? 0) === 0) continue;
      this.#place = place;
      this.fallback = { name, reason };
      return true;
    }
    return false;
  }

  /** The targets that may still serve the request: those of the virtual model in use and of its possible fallbacks. */
  remaining(): EligibleLeg[] {
    const places = [this.#place, ...this.chain.keys()].filter(
      (place, index) => index === 0 || this.#isOpen(place),
    );
    return places.flatMap((place) => this.eligible[place] ?? []).filter((leg) => !this.#tried.has(leg));
  }

  /** Returns the target for the next attempt; null if none is left. `reason` is why the last one failed; null before the first. */
  next(reason: FallbackReason | null, now: number): EligibleLeg | null {
    let why = reason;
    if (why === null || SAME_MODEL.has(why)) {
      const leg = this.#pick(this.#place, now);
      if (leg !== null) return leg;
      why ??= this.#whyNone(now);
    }
    while (this.fallBack(why)) {
      const leg = this.#pick(this.#place, now);
      if (leg !== null) return leg;
    }
    return null;
  }

  /** The target that is used although none is available, so that the request fails for its reason. */
  lastResort(): EligibleLeg | null {
    return this.eligible.flat().find((leg) => !this.#tried.has(leg)) ?? null;
  }

  /** Returns the candidates of all legs to the same target: with cache affinity, each target of an upstream is a leg. */
  candidatesBeside({ place, target, rule }: EligibleLeg): Candidates {
    const legs = (this.eligible[place] ?? []).filter((leg) => leg.target === target && leg.rule === rule);
    return {
      preferred: legs.flatMap(({ candidates }) => candidates.preferred),
      fallback: legs.flatMap(({ candidates }) => candidates.fallback),
    };
  }

  begin(leg: EligibleLeg, now: number): void {
    this.#tried.add(leg);
    this.lastLeg = leg;
    const plan = this.#planOf(leg.entry.model);
    this.#active = { leg, plan, ticket: plan.startAttempt(leg.target.index, now), startedAt: now };
  }

  /** The target in use has failed. */
  fail(now: number): void {
    if (this.#active === null) return;
    const { plan, leg, ticket } = this.#active;
    if (leg.entry.model.canary !== null) this.failures.push(leg);
    plan.recordFailure(leg.target.index, ticket, now);
    plan.endAttempt(leg.target.index, ticket);
    this.#active = null;
  }

  /** The target in use. */
  get activeLeg(): EligibleLeg | null {
    return this.#active?.leg ?? null;
  }

  /** The request has ended. `firstTokenAt` is null without a successful response. */
  end(firstTokenAt: number | null, now: number): void {
    if (this.#active === null) return;
    const { plan, leg, ticket, startedAt } = this.#active;
    if (firstTokenAt !== null)
      plan.recordResponse(leg.target.index, ticket, Math.max(0, firstTokenAt - startedAt), now);
    plan.endAttempt(leg.target.index, ticket);
    this.#active = null;
  }

  /** Records the tokens of the response of the target in use. */
  recordTokens(input: number, cachedInput: number, output: number): void {
    if (this.#active === null) return;
    const { plan, leg } = this.#active;
    plan.contenders[leg.target.index]?.state.tokens.record(input, cachedInput, output);
  }

  #pick(place: number, now: number): EligibleLeg | null {
    const usable = (this.eligible[place] ?? []).filter(
      (leg) =>
        !this.#tried.has(leg) && this.#availability(leg, now) === "available" && !this.#isExhausted(leg),
    );
    const legs = this.#preferCanary(place, usable);
    const cheapest = Math.min(...legs.map(({ cost }) => cost));
    const indexes = legs.flatMap(({ cost, target }) => (cost === cheapest ? target.index : []));
    const [first] = legs;
    if (first === undefined) return null;
    if (first.entry.model.record.strategy === "cache-affinity")
      return pickAffine(legs, this.conversationHash, this.#planOf);
    const picked = this.#planOf(first.entry.model).pick(indexes, [], null, this.conversationHash, now);
    return legs.find(({ target }) => target.index === picked) ?? null;
  }

  /** A request is eligible for the canary only if it is assigned to it. If the canary cannot serve it, the other targets do. */
  #preferCanary(place: number, usable: readonly EligibleLeg[]): readonly EligibleLeg[] {
    if (this.chain[place]?.model.canary === null) return usable;
    const canary = usable.filter(({ target }) => target.isCanary);
    if (canary.length > 0) return canary;
    const missing = (this.eligible[place] ?? []).find(
      (leg) => leg.target.isCanary && !this.#tried.has(leg) && !this.failures.includes(leg),
    );
    if (missing !== undefined) this.failures.push(missing);
    return usable;
  }

  /** Whether as many targets of the upstream were tried as it has attempts. */
  #isExhausted({ rule: { upstream } }: EligibleLeg): boolean {
    let count = 0;
    for (const { rule } of this.#tried) if (rule.upstream.id === upstream.id) count++;
    return count >= upstream.maxAttempts;
  }

  #whyNone(now: number): FallbackReason {
    const legs = this.eligible[this.#place] ?? [];
    if (legs.length === 0) return "context";
    return legs.some((leg) => this.#availability(leg, now) === "resting") ? "rate_limited" : "unavailable";
  }

  #isReachable(place: number, reason: FallbackReason): boolean {
    const { parent, reasons } = this.chain[place] ?? NOWHERE;
    return !this.#visited.has(place) && this.#visited.has(parent) && reasons.has(reason);
  }

  /** Whether the virtual model at this place may still be used, for whatever reason. */
  #isOpen(place: number): boolean {
    const { parent, reasons } = this.chain[place] ?? NOWHERE;
    if (place === this.#place || this.#visited.has(place) || reasons.size === 0) return false;
    return this.#visited.has(parent) || this.#isOpen(parent);
  }

  #availability(leg: EligibleLeg, now: number): Availability {
    return availabilityOf(leg, this.#planOf(leg.rule.upstream), now);
  }

  readonly #planOf = ({ plan }: { readonly plan: BalancePlan }): BalancePlan =>
    this.#planFor === null ? plan : this.#planFor(plan);
}

/** Each leg has one target. Targets of an upstream are used in the order of their priority. */
function pickAffine(
  legs: readonly EligibleLeg[],
  conversationHash: number,
  planOf: (served: { readonly plan: BalancePlan }) => BalancePlan,
): EligibleLeg | null {
  const targets = legs.map(({ rule: { upstream }, candidates, entry, target }) => {
    const account = planOf(upstream).contenders[candidates.preferred[0] ?? 0];
    const own = planOf(entry.model).contenders[target.index];
    return {
      upstream: upstream.id,
      priority: account?.priority ?? 0,
      // Two virtual targets may lead to the same account.
      hash: (account?.state.hash ?? 0) ^ (own?.state.hash ?? 0),
      weight: (account?.weight ?? 0) * (own?.weight ?? 0),
      inFlight: account?.state.inFlight ?? 0,
    };
  });
  const ranked = targets.map((each) => {
    const isLater = targets.some(
      ({ upstream, priority }) => upstream === each.upstream && priority < each.priority,
    );
    return isLater ? { ...each, weight: 0 } : each;
  });
  return legs[pickByAffinity(ranked, conversationHash)] ?? null;
}

const NOWHERE = { parent: -1, reasons: new Set<FallbackReason>() };

type Availability = ReturnType<BalancePlan["availability"]>;

export function availabilityOf({ candidates }: EligibleLeg, plan: BalancePlan, now: number): Availability {
  const preferred = plan.availability(candidates.preferred, now);
  if (preferred === "available" || candidates.fallback.length === 0) return preferred;
  const fallback = plan.availability(candidates.fallback, now);
  return fallback === "none" ? preferred : fallback;
}
