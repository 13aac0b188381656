// After which time without content a request is hedged. Serving and explain use the same rule.
import type { BalancePlan } from "../../balance/balance-plan.ts";
import type { Upstream } from "../../model/upstream.ts";
import type { Exchange } from "../exchange.ts";

/** Returns milliseconds; null if there are not enough measurements for a percentile yet. */
export function hedgeDelay(
  { after }: NonNullable<Upstream["hedge"]>,
  plan: BalancePlan,
  model: string | null,
  { fields }: Exchange,
  firstContentMs: number | null,
): number | null {
  const delay = after === "p95" ? plan.hedging.p95(model, fields.wantsStream) : after;
  return delay === null ? null : Math.min(delay, firstContentMs ?? Infinity);
}
