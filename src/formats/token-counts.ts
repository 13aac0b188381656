// The normalized token counts of one response. Every format converts its own counters to them; costs are computed from them.

/** Each token of the input and of the output is counted once, whatever the provider includes in which counter. */
export interface TokenCounts extends TokenParts {
  /** All input, cached input included. */
  readonly inputTokens: number;
  /** All output, reasoning included. */
  readonly outputTokens: number;
}

/**
 * Counts of which the provider has not reported a usable number: a missing, negative, fractional or too large one, a text or null. Such a count is
 * unknown and not 0: `inputTokens` or `outputTokens` is what is known of it at least. With `split`, only the sum is known, and is the input.
 */
export type UnknownCounts = "input" | "output" | "both" | "split";

export interface ReportedTokens extends TokenCounts {
  /** Absent if all counts were reported, or follow from the total. */
  readonly unknown?: UnknownCounts;
}

/** The numbers of a usage object; below 0 if there is none. */
interface ReportedCounts {
  readonly input: number;
  readonly output: number;
  /** Input and output together. */
  readonly total: number;
  /** Parts of the input and of the output that were reported, in case that the whole was not. */
  readonly knownInput?: number;
  readonly knownOutput?: number;
}

/** Tokens that have prices of their own. Those of the input are disjoint, and so are those of the output. */
interface TokenParts {
  /** Input that the provider read from its cache. */
  readonly cachedInputTokens: number;
  /** Input that the provider wrote to its cache, by the lifetime of the entry. */
  readonly cacheWrite5mTokens: number;
  readonly cacheWrite1hTokens: number;
  readonly audioInputTokens: number;
  readonly reasoningTokens: number;
  readonly audioOutputTokens: number;
}

/**
 * Returns the counts with every part limited to what the parts before it leave of the input or the output, so that no token
 * is counted twice, not even if a provider reports cached audio in both counters. A part below 0 is absent.
 */
export function tokenCounts(inputTokens: number, outputTokens: number, parts: TokenParts): TokenCounts {
  const cachedInputTokens = limit(parts.cachedInputTokens, inputTokens);
  let rest = inputTokens - cachedInputTokens;
  const cacheWrite5mTokens = limit(parts.cacheWrite5mTokens, rest);
  rest -= cacheWrite5mTokens;
  const cacheWrite1hTokens = limit(parts.cacheWrite1hTokens, rest);
  rest -= cacheWrite1hTokens;
  const reasoningTokens = limit(parts.reasoningTokens, outputTokens);
  return {
    inputTokens,
    outputTokens,
    cachedInputTokens,
    cacheWrite5mTokens,
    cacheWrite1hTokens,
    audioInputTokens: limit(parts.audioInputTokens, rest),
    reasoningTokens,
    audioOutputTokens: limit(parts.audioOutputTokens, outputTokens - reasoningTokens),
  };
}

/** Returns what a provider has reported, in whatever format; null if it has reported no count. */
export function reportedTokens(
  { input, output, total, knownInput = 0, knownOutput = 0 }: ReportedCounts,
  parts: TokenParts,
): ReportedTokens | null {
  // Some providers count reasoning only in the total.
  if (input >= 0 && output >= 0) {
    const inTotalOnly = Math.max(total - input - output, 0);
    const reasoningTokens = Math.max(parts.reasoningTokens, inTotalOnly);
    return tokenCounts(input, output + inTotalOnly, inTotalOnly > 0 ? { ...parts, reasoningTokens } : parts);
  }
  // A total that is less than one of its parts says nothing about the other one.
  if (input >= 0 && total >= input) return tokenCounts(input, Math.max(total - input, knownOutput), parts);
  if (output >= 0 && total >= output) return tokenCounts(Math.max(total - output, knownInput), output, parts);
  const inputTokens = Math.max(input, knownInput, 0);
  const outputTokens = Math.max(output, knownOutput, 0);
  if (input >= 0) return { ...tokenCounts(inputTokens, outputTokens, parts), unknown: "output" };
  if (output >= 0) return { ...tokenCounts(inputTokens, outputTokens, parts), unknown: "input" };
  if (total >= 0) return { ...tokenCounts(total, 0, parts), unknown: "split" };
  return inputTokens + outputTokens === 0
    ? null
    : { ...tokenCounts(inputTokens, outputTokens, parts), unknown: "both" };
}

/** Returns the counts with an input that was estimated. Of a sum, what exceeds it is output. */
export function withEstimatedInput(reported: ReportedTokens, estimate: number): TokenCounts {
  const { unknown, inputTokens, outputTokens } = reported;
  if (unknown !== "split") return tokenCounts(Math.max(inputTokens, estimate), outputTokens, reported);
  const input = Math.min(inputTokens, estimate);
  return tokenCounts(input, inputTokens - input, reported);
}

function limit(part: number, whole: number): number {
  return Math.max(Math.min(part, whole), 0);
}
