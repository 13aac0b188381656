// Attempts of which the client gets nothing, although the provider may have run the model: which ones are charged, and with which tokens.
import type { TokenCounts } from "../../formats/token-counts.ts";
import type { AttemptFacts } from "../../telemetry/requests/request-facts.ts";
import { NO_TOKENS } from "../../usage/usage-accumulator.ts";

/** The provider may have run the model: the request was sent, and its response did not arrive completely. */
const CHARGED_FAILURES: ReadonlySet<string> = new Set([
  "client_left",
  "first_byte_timeout",
  "first_content_timeout",
  "empty_stream",
  "idle_timeout",
  "total_timeout",
  "cut",
  "content_filter",
  "hedge_lost",
  "stopped",
  "abandoned",
]);
/** Whether the provider may have run the model, although its response did not arrive. */
export function isChargedFailure({ fault, wasSent }: Pick<AttemptFacts, "fault" | "wasSent">): boolean {
  return fault !== null && wasSent && CHARGED_FAILURES.has(fault);
}

/**
 * Returns what such an attempt used: what was reported, else the estimated input. The output is the largest of the reported one, that of the
 * text of a body that was cut, and the hidden one.
 */
export function unusedTokensOf(
  {
    unusedUsage,
    cutOutputTokens,
    hiddenTokens,
  }: Pick<AttemptFacts, "unusedUsage" | "cutOutputTokens" | "hiddenTokens">,
  estimatedInput: number,
): TokenCounts {
  const known = unusedUsage ?? { ...NO_TOKENS, inputTokens: estimatedInput };
  const received = Math.max(known.outputTokens, cutOutputTokens);
  const hidden = Math.max(0, hiddenTokens - received);
  return { ...known, outputTokens: received + hidden, reasoningTokens: known.reasoningTokens + hidden };
}
