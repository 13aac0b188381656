// The usage of a request that a provider received and whose response did not arrive: the client disconnected, or a timeout expired.
import type { AttemptFacts } from "../telemetry/requests/request-facts.ts";
import { isChargedFailure, needsInput, unusedTokensOf } from "./budgets/charged-failure.ts";
import { mayCost } from "./budgets/plan-budgets.ts";
import type { Exchange } from "./exchange.ts";
import { estimateUnusedAttempts, type SpeedParts } from "./hidden-output.ts";
import { costFor, estimateInput } from "./record-usage.ts";

/**
 * Sets the usage of the exchange if the provider may have run the model: what it has reported, else the estimated input, marked partial.
 * Also sets the hidden tokens of the attempts whose response did not arrive. Call before the body is released. Returns the attempt, or null if there is none.
 */
export function settleWithoutResponse(exchange: Exchange, parts: SpeedParts): AttemptFacts | null {
  estimateUnusedAttempts(exchange, parts);
  const { response, rule, handshake, attemptFacts } = exchange;
  if (response !== null || rule === null || handshake !== null) return null;
  const attempt = attemptFacts.findLast(isChargedWithoutResponse) ?? null;
  if (attempt === null || !mayCost(exchange, rule)) return null;
  const input = needsInput(attempt) ? estimateInput(exchange) : 0;
  const usage = { ...unusedTokensOf(attempt, input), isPartial: true };
  exchange.usage = usage;
  exchange.costNanos = costFor(exchange, attempt.model, usage);
  return attempt;
}

/** Whether the attempt is charged although its response did not arrive. Hedges record their usage themselves. */
function isChargedWithoutResponse(facts: AttemptFacts): boolean {
  return facts.purpose !== "hedge" && isChargedFailure(facts);
}
