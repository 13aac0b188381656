// Explains which target of a virtual model would receive a request. Changes no balancing state.
import type { ExplainedVirtualModel } from "../model/explanation.ts";
import type { Candidates } from "../snapshot/compile-upstream.ts";
import type { EncodeParts } from "../proxy/encode.ts";
import type { Exchange } from "../proxy/exchange.ts";
import type { Leg } from "../proxy/virtual-models/leg.ts";
import { enterLeg } from "../proxy/virtual-models/resolve-model.ts";
import { availabilityOf, type VirtualRoute } from "../proxy/virtual-models/virtual-route.ts";
import { explainMirror } from "./explain-mirror.ts";

interface ExplainedRoute {
  readonly explained: ExplainedVirtualModel;
  /** The targets of the upstream among which the attempt would choose; null if there would be none. */
  readonly candidates: Candidates | null;
}

/** Also makes the exchange one with the target that is next. */
export function explainVirtualModel(
  exchange: Exchange,
  route: VirtualRoute,
  parts: EncodeParts,
): ExplainedRoute {
  const now = exchange.clock.now();
  route.simulate();
  const next = route.next(null, now) ?? route.lastResort();
  if (next !== null) enterLeg(exchange, next);
  const eligible = route.eligible.flat();
  const describe = (leg: Leg) => {
    // With cache-affinity each account of the upstream is a target of its own.
    const found = eligible.filter(({ place, target }) => place === leg.place && target === leg.target);
    const isAvailable = found.some(
      (each) => availabilityOf(each, each.rule.upstream.plan, now) === "available",
    );
    const weight = leg.entry.model.plan.contenders[leg.target.index]?.weight ?? 0;
    const isNext = next !== null && found.includes(next);
    const { isCanary } = leg.target;
    const reason = isNext
      ? isCanary
        ? "the canary receives this request"
        : "receives this request"
      : weight === 0
        ? "its weight is 0"
        : found.length === 0
          ? isCanary
            ? "the canary does not serve this subject, or may not serve the request"
            : "cannot hold the input, or may not serve the request"
          : isAvailable
            ? "another target is next"
            : "no target of the upstream is available";
    return {
      virtual_model: leg.entry.model.name,
      upstream: leg.rule.upstream.name,
      model: leg.model,
      canary: isCanary,
      weight,
      eligible: isAvailable && weight > 0,
      next: isNext,
      reason,
    };
  };
  const { model, requested, fallback } = route;
  const explained: ExplainedVirtualModel = {
    requested,
    name: model.name,
    strategy: model.record.strategy,
    fallback: fallback === null ? null : { ...fallback },
    canary:
      next === null || next.entry.model.canary === null ? null : next.target.isCanary ? "canary" : "stable",
    mirror: explainMirror(exchange, route, parts),
    targets: route.legs.flat().map(describe),
  };
  return { explained, candidates: next?.candidates ?? null };
}
