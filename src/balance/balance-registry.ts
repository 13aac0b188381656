// Owns the balancing state of the process: per upstream and target id, across all configurations.
import { type BalanceConfig, BalancePlan, type UpstreamShared } from "./balance-plan.ts";
import { RefreshPace } from "./lowest-latency.ts";
import { RetryBudget } from "./retry-budget.ts";
import { TargetState } from "./target-state.ts";
import type { RandomSource } from "./weighted-random.ts";

class UpstreamState implements UpstreamShared {
  readonly targets = new Map<string, TargetState>();
  readonly retries = new RetryBudget();
  readonly pace = new RefreshPace();
  readonly random: RandomSource;

  constructor(random: RandomSource) {
    this.random = random;
  }
}

export class BalanceRegistry {
  readonly #upstreams = new Map<string, UpstreamState>();
  readonly #random: RandomSource;

  constructor(random: RandomSource = Math.random) {
    this.#random = random;
  }

  /** Compiles a plan over the state of the targets it names. Disturbs no plan in force: this one may yet be rejected. */
  plan(upstreamId: string, config: BalanceConfig): BalancePlan {
    let upstream = this.#upstreams.get(upstreamId);
    if (upstream === undefined) {
      upstream = new UpstreamState(this.#random);
      this.#upstreams.set(upstreamId, upstream);
    }
    const { targets } = upstream;
    const contenders = config.targets.map(({ id, weight, priority }, index) => {
      let state = targets.get(id);
      if (state === undefined) {
        state = new TargetState(id);
        targets.set(id, state);
      }
      return { index, weight, priority, state };
    });
    return new BalancePlan(upstreamId, config, contenders, upstream);
  }

  /** The plan serves from now on: targets it does not name are forgotten. Requests under older plans are unharmed. */
  activate(plan: BalancePlan): void {
    const upstream = this.#upstreams.get(plan.upstreamId);
    if (upstream === undefined) return;
    const named = new Set<string>();
    for (const { state } of plan.contenders) {
      named.add(state.id);
      if (!plan.config.passive) state.health.forgive();
    }
    for (const id of upstream.targets.keys()) {
      if (!named.has(id)) upstream.targets.delete(id);
    }
  }

  /** The upstream is no more, or never came to be. Requests under its plans are unharmed. */
  forget(upstreamId: string): void {
    this.#upstreams.delete(upstreamId);
  }
}
