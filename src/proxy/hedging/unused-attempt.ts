// What the attempt of a hedged request cost whose response was not used, and where it is recorded.
import type { AttemptFacts, HedgeFacts } from "../../telemetry/requests/request-facts.ts";
import { NO_TOKENS, type Usage } from "../../usage/usage-accumulator.ts";
import type { UsageTotals } from "../../usage/usage-totals.ts";
import { isChargedFailure, needsInput, unusedTokensOf } from "../budgets/charged-failure.ts";
import type { Reservations } from "../budgets/reservations.ts";
import type { Exchange } from "../exchange.ts";
import { estimateUnused, type SpeedParts } from "../hidden-output.ts";
import { addToTotals, costFor, estimateInput, NANOS_PER_DOLLAR } from "../record-usage.ts";
import type { Hedge } from "./hedge.ts";

/** Call when the other attempt serves the request, or both have failed. `reported` is the usage that the attempt has reported. */
export function settleUnused(
  exchange: Exchange,
  hedge: Hedge,
  facts: AttemptFacts,
  reported: Usage | null,
  parts: SpeedParts,
): void {
  facts.purpose = "hedge";
  if (!isChargedFailure(facts) || exchange.gameDay?.isAffected === true) return;
  // Aborted before its first content: without a report, the input is what the provider has read.
  facts.unusedUsage = reported;
  estimateUnused(exchange, facts, parts);
  const input = needsInput(facts) ? estimateInput(exchange) : 0;
  const usage = { ...unusedTokensOf(facts, input), isPartial: true };
  const costNanos = costFor(exchange, facts.model, usage);
  const { inputTokens, outputTokens } = usage;
  const { model, isChargedAsReserved: isPartial } = facts;
  const charge = { model, nanos: costNanos ?? 0, inputTokens, outputTokens, isPartial };
  hedge.unused = { facts, charge, costNanos };
}

export function hedgeFactsOf({ result, afterMs, unused }: Hedge): HedgeFacts {
  const nanos = unused === null ? 0 : unused.costNanos;
  return { result: result ?? "failed", afterMs, cost: nanos === null ? null : nanos / NANOS_PER_DOLLAR };
}

/** Call once, when the request has ended. */
export function finishHedge(
  exchange: Exchange,
  hedge: Hedge,
  reservations: Reservations,
  totals: UsageTotals,
): void {
  const { reserved, unused } = hedge;
  if (reserved !== null) reservations.settleWith(exchange, reserved, unused === null ? [] : [unused.charge]);
  if (unused === null) return;
  const { facts, charge, costNanos } = unused;
  const usage = { ...NO_TOKENS, inputTokens: charge.inputTokens, outputTokens: charge.outputTokens };
  const call = { model: facts.model, provider: facts.target.provider, purpose: "hedge" } as const;
  addToTotals(exchange, call, { ...usage, isPartial: true }, costNanos, totals);
}
