// The usage of one response of a WebSocket: what the provider has reported of it, and estimates of the rest.
import {
  tokenCounts,
  withEstimatedInput,
  type ReportedTokens,
  type TokenCounts,
} from "../../formats/token-counts.ts";
import {
  isInputUnknown,
  isOutputKnown,
  needsText,
  NO_TOKENS,
  withTextOutput,
  type Usage,
} from "../../usage/usage-accumulator.ts";

/** `reported` is null if the provider has reported nothing. `estimate` is called only if it is needed. */
export function usageOfTurn(reported: ReportedTokens | null, estimate: () => TokenCounts): Usage {
  const usage =
    reported === null
      ? { ...NO_TOKENS, isPartial: true }
      : { ...reported, isPartial: reported.unknown !== undefined };
  if (!usage.isPartial && !needsText(usage)) return usage;
  const estimated = estimate();
  const known = withTextOutput(usage, estimated.outputTokens, false);
  if (!known.isPartial) return known;
  if (known.unknown === "split") return { ...known, ...withEstimatedInput(known, estimated.inputTokens) };
  const isEstimatedInput = isInputUnknown(known);
  const larger = (name: "inputTokens" | "audioInputTokens" | "audioOutputTokens", isEstimated: boolean) =>
    isEstimated ? Math.max(known[name], estimated[name]) : known[name];
  const parts = {
    ...known,
    audioInputTokens: larger("audioInputTokens", isEstimatedInput),
    audioOutputTokens: larger("audioOutputTokens", !isOutputKnown(known)),
  };
  return { ...known, ...tokenCounts(larger("inputTokens", isEstimatedInput), known.outputTokens, parts) };
}
