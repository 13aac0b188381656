// Attempts of which the client gets nothing, although the provider may have run the model: which ones are charged, and with which tokens.
import type { TokenCounts } from "../../formats/token-counts.ts";
import type { AttemptFault } from "../../telemetry/requests/attempt-fault.ts";
import type { AttemptFacts } from "../../telemetry/requests/request-facts.ts";
import { isInputUnknown, NO_TOKENS } from "../../usage/usage-accumulator.ts";

/**
 * Whether the provider may have run the model although its response did not arrive. The request may not have been sent (`wasSent`), but where
 * it was, only the absence of a connection proves that nothing was generated.
 */
const IS_CHARGED: Readonly<Record<AttemptFault, boolean>> = {
  unreachable: false,
  connect_timeout: false,
  forbidden: false,
  credentials: false,
  broken: true,
  cut: true,
  invalid: true,
  first_byte_timeout: true,
  idle_timeout: true,
  first_content_timeout: true,
  total_timeout: true,
  error_event: true,
  empty_stream: true,
  content_filter: true,
  hedge_lost: true,
  stopped: true,
  abandoned: true,
  client_left: true,
};

/** Whether the provider may have run the model, although its response did not arrive. */
export function isChargedFailure({ fault, wasSent }: Pick<AttemptFacts, "fault" | "wasSent">): boolean {
  return fault !== null && wasSent && IS_CHARGED[fault];
}

/** Whether the attempt has reported no input, so that it has to be estimated. */
export function needsInput({ unusedUsage }: Pick<AttemptFacts, "unusedUsage">): boolean {
  return unusedUsage === null || isInputUnknown(unusedUsage);
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
    hiddenReasoning,
  }: Pick<AttemptFacts, "unusedUsage" | "cutOutputTokens" | "hiddenTokens" | "hiddenReasoning">,
  estimatedInput: number,
): TokenCounts {
  const known = unusedUsage ?? NO_TOKENS;
  const inputTokens = needsInput({ unusedUsage })
    ? Math.max(estimatedInput, known.inputTokens)
    : known.inputTokens;
  const received = Math.max(known.outputTokens, cutOutputTokens);
  const hidden = Math.max(0, hiddenTokens - received);
  const reasoningTokens = known.reasoningTokens + Math.min(hidden, hiddenReasoning);
  return { ...known, inputTokens, outputTokens: received + hidden, reasoningTokens };
}
