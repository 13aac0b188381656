// The usage that a chat client gets with a translated response: the tokens that the gateway counts.
import { isJsonObject } from "../base/json.ts";
import type { ChatUsage } from "./openai/wire-types.ts";
import { addCounters, type Counters, type UsageReader } from "./usage-reader.ts";

const NO_USAGE: ChatUsage = {
  prompt_tokens: 0,
  completion_tokens: 0,
  total_tokens: 0,
  prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
};

/** Returns the usage of a whole response; no tokens if it reports none. */
export function chatUsageOf(reader: UsageReader, usage: unknown): ChatUsage {
  return (isJsonObject(usage) ? toChatUsage(reader, reader.countersOf(usage)) : null) ?? NO_USAGE;
}

/** The usage of a stream, of which several events may report a part. */
export class StreamedUsage {
  readonly #reader: UsageReader;
  #counters: Counters | null = null;

  constructor(reader: UsageReader) {
    this.#reader = reader;
  }

  add(usage: unknown): void {
    if (isJsonObject(usage)) this.#counters = addCounters(this.#counters, this.#reader.countersOf(usage));
  }

  /** Null if no event has reported any. */
  get chatUsage(): ChatUsage | null {
    return this.#counters === null ? null : toChatUsage(this.#reader, this.#counters);
  }

  get chatUsageOrNone(): ChatUsage {
    return this.chatUsage ?? NO_USAGE;
  }
}

function toChatUsage(reader: UsageReader, counters: Counters): ChatUsage | null {
  const counts = reader.toTokenCounts(counters);
  if (counts === null) return null;
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = counts;
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: {
      cached_tokens: cachedInputTokens,
      cache_write_tokens: counts.cacheWrite5mTokens + counts.cacheWrite1hTokens,
    },
    ...(reasoningTokens > 0 ? { completion_tokens_details: { reasoning_tokens: reasoningTokens } } : {}),
  };
}
