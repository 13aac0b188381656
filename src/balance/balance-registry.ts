// The balancing state of a gateway by upstream and target id, across configuration changes.
import { type BalanceConfig, BalancePlan, type UpstreamBalanceState } from "./balance-plan.ts";
import { HedgeState } from "./hedge-state.ts";
import { RemeasurePace } from "./lowest-latency.ts";
import { RetryBudget } from "./retry-budget.ts";
import { TargetState } from "./target-state.ts";
import type { RandomSource } from "./weighted-random.ts";

class UpstreamState implements UpstreamBalanceState {
  readonly targets = new Map<string, TargetState>();
  readonly retries = new RetryBudget();
  readonly remeasurePace = new RemeasurePace();
  readonly random: RandomSource;
  #hedging: HedgeState | null = null;

  constructor(random: RandomSource) {
    this.random = random;
  }

  readonly hedging = (): HedgeState => (this.#hedging ??= new HedgeState());
}

export class BalanceRegistry {
  readonly #upstreams = new Map<string, UpstreamState>();
  readonly #random: RandomSource;

  constructor(random: RandomSource = Math.random) {
    this.#random = random;
  }

  /** Creates a plan with the state of its targets. Does not affect the active plan, because this one may be rejected. */
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

  /** Makes the plan active: drops the state of targets that it does not have. Requests of earlier plans continue. */
  activate(plan: BalancePlan): void {
    const upstream = this.#upstreams.get(plan.upstreamId);
    if (upstream === undefined) return;
    const targetIds = new Set<string>();
    for (const { state } of plan.contenders) {
      targetIds.add(state.id);
      if (!plan.config.passive) state.health.reset();
    }
    for (const id of upstream.targets.keys()) {
      if (!targetIds.has(id)) upstream.targets.delete(id);
    }
  }

  /** Drops the state of an upstream. Requests of its plans continue. */
  forget(upstreamId: string): void {
    this.#upstreams.delete(upstreamId);
  }
}
