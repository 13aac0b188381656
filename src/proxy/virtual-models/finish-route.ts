// Reports the end of a request for a virtual model: to its balancing the time to the first token and the tokens, and to telemetry.
import type { VirtualModelNames } from "../../telemetry/metrics/observed-route.ts";
import type { Exchange } from "../exchange.ts";
import { NANOS_PER_DOLLAR, priceFor } from "../record-usage.ts";
import type { VirtualRoute } from "./virtual-route.ts";

/** `now` is the time of the exchange's clock. Without a stream, the response as a whole is the first token. */
export function finishRoute(
  { response, usage, firstContent }: Exchange,
  route: VirtualRoute,
  now: number,
): void {
  const isOk = response !== null && response.upstreamResponse.ok;
  if (isOk && usage !== null && !usage.isPartial)
    route.recordTokens(usage.inputTokens, usage.cachedInputTokens, usage.outputTokens);
  const receivedAt = response?.report.facts?.firstByteAt ?? now;
  route.end(isOk ? (firstContent === null ? receivedAt : firstContent.seenAt) : null, now);
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
