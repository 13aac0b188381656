// What becomes of the usage of an answer: it is noted on the exchange with its cost, and counted into the totals.
import type { UsageTotals } from "../usage/usage-totals.ts";
import type { Exchange } from "./exchange.ts";
import type { Usage } from "../usage/usage.ts";

/** Notes on the exchange what its answer used and what that costs, at the price that was in force when it began. */
export function settleUsage(exchange: Exchange, usage: Usage | null): void {
  exchange.usage = usage;
  const model = exchange.response?.model ?? null;
  if (usage !== null && model !== null)
    exchange.cost = exchange.snapshot.prices.costOf(model, usage.inputTokens, usage.outputTokens);
}

/** Counts a request into the totals of its gateway, key and model: a chat that was answered, or whatever told of tokens. */
export function recordUsage(exchange: Exchange, totals: UsageTotals): void {
  const { usage, cost, response: answer, gateway, apiKey } = exchange;
  if (gateway === null || answer === null) return;
  if (usage === null && !(answer.isChat && answer.response.ok)) return;
  totals.add({
    gatewayId: gateway.id,
    apiKeyId: apiKey?.id ?? null,
    apiKeyName: apiKey?.name ?? null,
    model: answer.model,
    // A good answer that tells nothing is as little known in full as one that broke off.
    isPartial: usage?.isPartial ?? true,
    inputTokens: usage?.inputTokens ?? 0,
    outputTokens: usage?.outputTokens ?? 0,
    cost: cost ?? 0,
  });
}
