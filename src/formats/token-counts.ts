// The normalized token counts of one response. Every format converts its own counters to them; costs are computed from them.

/** Each token of the input and of the output is counted once, whatever the provider includes in which counter. */
export interface TokenCounts extends TokenParts {
  /** All input, cached input included. */
  readonly inputTokens: number;
  /** All output, reasoning included. */
  readonly outputTokens: number;
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

function limit(part: number, whole: number): number {
  return Math.max(Math.min(part, whole), 0);
}
