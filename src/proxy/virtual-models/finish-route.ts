// Reports the end of a request for a virtual model: to its balancing the time to the first token and the tokens, and to telemetry.
import type { Arm } from "../../balance/canary-window.ts";
import type { CanaryWatch } from "../../runtime/canary-watch.ts";
import type { VirtualTarget } from "../../snapshot/compile-virtual-models.ts";
import type { Outcome } from "../../telemetry/requests/request-facts.ts";
import type { VirtualModelNames } from "../../telemetry/metrics/observed-gateway.ts";
import type { Exchange } from "../exchange.ts";
import type { TargetResponse } from "../target-response.ts";
import { priceFor } from "../price-for.ts";
import { NANOS_PER_DOLLAR } from "../record-usage.ts";
import type { VirtualRoute } from "./virtual-route.ts";

export interface CanaryPart {
  readonly canaries: Pick<CanaryWatch, "record">;
}

/** `now` is the time of the exchange's clock. Without a stream, the response as a whole is the first token. */
export function finishRoute(
  { response, usage, firstContent, gameDay }: Exchange,
  route: VirtualRoute,
  outcome: Outcome,
  now: number,
  { canaries }: CanaryPart,
): void {
  const isOk = response !== null && response.upstreamResponse.ok;
  // A client that disconnects says nothing about the target, nor does a stream that a plugin has ended.
  const saysNothing = outcome === "client_left" || response?.isCutByPlugin === true;
  // Failures that a game day has injected say nothing about the targets either.
  if (gameDay?.isAffected !== true) recordArms(response, route, saysNothing ? null : outcome, canaries);
  if (isOk && usage !== null && !usage.isPartial)
    route.recordTokens(usage.inputTokens, usage.cachedInputTokens, usage.outputTokens);
  const receivedAt = response?.report.facts?.firstByteAt ?? now;
  route.end(isOk ? (firstContent === null ? receivedAt : firstContent.seenAt) : null, now);
}

/** Reports to the canaries which targets have failed, and which has responded. `outcome` is null if it says nothing about the target. */
function recordArms(
  response: TargetResponse | null,
  route: VirtualRoute,
  outcome: Outcome | null,
  canaries: CanaryPart["canaries"],
): void {
  for (const { entry, target } of route.failures)
    canaries.record(entry.model.record, armOf(target), true, null);
  const { activeLeg: leg } = route;
  if (leg === null || leg.entry.model.canary === null || outcome === null) return;
  const isOk = response !== null && response.upstreamResponse.ok;
  const isError = !isOk || outcome === "failed" || outcome === "incomplete";
  canaries.record(leg.entry.model.record, armOf(leg.target), isError, isOk ? response.firstByteMs : null);
}

function armOf({ isCanary }: VirtualTarget): Arm {
  return isCanary ? "canary" : "stable";
}

export function routeFacts(
  exchange: Exchange,
  { model, lastLeg, fallback }: VirtualRoute,
): VirtualModelNames {
  return {
    name: model.name,
    target: lastLeg?.target.model ?? null,
    fallback: fallback?.name ?? null,
    reason: fallback?.reason ?? null,
    canary: lastLeg === null || lastLeg.entry.model.canary === null ? null : armOf(lastLeg.target),
    cacheSavings: cacheSavings(exchange),
  };
}

/** Returns 0 if the price or the tokens are unknown. */
function cacheSavings(exchange: Exchange): number {
  const { response, usage } = exchange;
  if (usage === null || usage.cachedInputTokens === 0 || response === null) return 0;
  const price = priceFor(exchange, response.model);
  if (price === null) return 0;
  return (price.costOf({ ...usage, cachedInputTokens: 0 }) - price.costOf(usage)) / NANOS_PER_DOLLAR;
}
