// The balancing state that a request uses: that of its upstream, or a copy of it during a game day.
import type { BalancePlan } from "../balance/balance-plan.ts";
import type { Exchange } from "./exchange.ts";

export function planOf({ gameDay }: Exchange, { plan }: { readonly plan: BalancePlan }): BalancePlan {
  return gameDay === null ? plan : gameDay.planOf(plan);
}
