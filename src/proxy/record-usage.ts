// Records the usage of a response: on the exchange, with its cost, and in the totals.
import type { Usage } from "../usage/usage-accumulator.ts";
import type { UsageTotals } from "../usage/usage-totals.ts";
import type { Exchange } from "./exchange.ts";

/** Sets the usage of the exchange and its cost, at the prices that were in effect when the request started. */
export function settleUsage(exchange: Exchange, usage: Usage | null): void {
  exchange.usage = usage;
  const model = exchange.response?.model ?? null;
  if (usage !== null && model !== null)
    exchange.cost = exchange.snapshot.prices.costOf(model, usage.inputTokens, usage.outputTokens);
}

/** Adds a request to the totals of its gateway, key, and model if it is a successful chat or its response reports tokens. */
export function recordUsage(exchange: Exchange, totals: UsageTotals): void {
  const { usage, cost, response: targetResponse, gateway, apiKey } = exchange;
  if (gateway === null || targetResponse === null) return;
  if (usage === null && !(targetResponse.isChat && targetResponse.upstreamResponse.ok)) return;
  totals.add({
    gatewayId: gateway.id,
    apiKeyId: apiKey?.id ?? null,
    apiKeyName: apiKey?.name ?? null,
    model: targetResponse.model,
    // The tokens of a successful response without usage are unknown, like those of a response that was cut.
    isPartial: usage?.isPartial ?? true,
    inputTokens: usage?.inputTokens ?? 0,
    outputTokens: usage?.outputTokens ?? 0,
    cost: cost ?? 0,
  });
}
