// Records the usage of a WebSocket while it is open: each response of the model counts like a request of its own.
import { countUsage } from "../../telemetry/metrics/count-request.ts";
import { NO_TOKENS, type Usage } from "../../usage/usage-accumulator.ts";
import type { UsageTotals } from "../../usage/usage-totals.ts";
import type { Exchange } from "../exchange.ts";
import { addToTotals, costFor, NANOS_PER_DOLLAR, sentTo } from "../record-usage.ts";
import type { TargetResponse } from "../target-response.ts";

/**
 * `usage` is null if the tokens of the response are unknown. `model` has generated it. Returns its cost in nano-dollars; null if that is
 * unknown.
 */
export function recordSocketUsage(
  exchange: Exchange,
  response: TargetResponse,
  model: string | null,
  usage: Usage | null,
  totals: UsageTotals,
): number | null {
  const isBilled = exchange.gameDay?.isSocketFree !== true;
  const costNanos = isBilled ? costFor(exchange, model, usage) : 0;
  if (isBilled) addToTotals(exchange, { ...sentTo(response), model }, usage, costNanos, totals);
  const { facts } = response.report;
  if (facts !== null && isBilled) {
    const cost = costNanos === null ? null : costNanos / NANOS_PER_DOLLAR;
    const tokens = usage === null ? null : { input: usage.inputTokens, output: usage.outputTokens };
    countUsage(facts.target.series(facts.model, true), tokens, cost, cost === null);
  }
  exchange.usage = sum(exchange.usage, usage ?? { ...NO_TOKENS, isPartial: true });
  if (costNanos !== null) exchange.costNanos = (exchange.costNanos ?? 0) + costNanos;
  return costNanos;
}

function sum(before: Usage | null, usage: Usage): Usage {
  if (before === null) return usage;
  return {
    inputTokens: before.inputTokens + usage.inputTokens,
    outputTokens: before.outputTokens + usage.outputTokens,
    cachedInputTokens: before.cachedInputTokens + usage.cachedInputTokens,
    cacheWrite5mTokens: before.cacheWrite5mTokens + usage.cacheWrite5mTokens,
    cacheWrite1hTokens: before.cacheWrite1hTokens + usage.cacheWrite1hTokens,
    audioInputTokens: before.audioInputTokens + usage.audioInputTokens,
    reasoningTokens: before.reasoningTokens + usage.reasoningTokens,
    audioOutputTokens: before.audioOutputTokens + usage.audioOutputTokens,
    isPartial: before.isPartial || usage.isPartial,
  };
}
