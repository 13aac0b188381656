// Combines the usage that a provider reports in one response, possibly in several stream events, into one token count.
import { isJsonObject } from "../base/json.ts";
import { tokenCounts, type TokenCounts } from "../formats/token-counts.ts";
import { addCounters, type Counters, type EventUsage, type UsageReader } from "../formats/usage-reader.ts";

/** The tokens that one response used. */
export interface Usage extends TokenCounts {
  /** The provider did not report all tokens, as of a response that was cut. What it did not report of a stream is estimated. */
  readonly isPartial: boolean;
  /** The relayed part of a stream contains audio or images, and their tokens are neither reported nor estimated. */
  readonly hasMedia?: boolean;
  /** The estimated tokens of the text that was relayed, if the usage is partial. */
  readonly relayedTokens?: number;
}

export const NO_TOKENS = tokenCounts(0, 0, {
  cachedInputTokens: 0,
  cacheWrite5mTokens: 0,
  cacheWrite1hTokens: 0,
  audioInputTokens: 0,
  reasoningTokens: 0,
  audioOutputTokens: 0,
});

export class UsageAccumulator {
  readonly #reader: UsageReader;
  #counters: Counters | null = null;
  /** The provider has reported the final counts, whether or not the rest of the response arrives. */
  #isFinal = false;
  /** Only the usage at the start of a stream has been reported. */
  #isStartOnly = false;

  constructor(reader: UsageReader) {
    this.#reader = reader;
  }

  add(counters: Counters, stage: EventUsage["stage"]): void {
    const isFirst = this.#counters === null;
    this.#counters = addCounters(this.#counters, counters);
    this.#isFinal ||= stage === "final";
    this.#isStartOnly = isFirst && stage === "start";
  }

  /** Adds the usage in a stream event, given as parsed JSON. Returns true if the event reports nothing but usage. */
  addEvent(event: unknown): boolean {
    const found = isJsonObject(event) ? this.#reader.findInEvent(event) : null;
    if (found === null) return false;
    this.add(this.#reader.countersOf(found.usage), found.stage);
    return found.isUsageOnly;
  }

  /**
   * Call at the end of the response. Returns null if the provider reported no usage. For a chat response that ended early
   * the tokens are then unknown but not zero, so the result is partial.
   */
  result(isComplete: boolean, isChat: boolean): Usage | null {
    if (this.#counters === null) return isChat && !isComplete ? { ...NO_TOKENS, isPartial: true } : null;
    const isPartial = !this.#isFinal && (!isComplete || this.#isStartOnly);
    return toUsage(this.#reader.toTokenCounts(this.#counters), isPartial);
  }
}

/** Returns the usage of a complete body that has these counters. */
export function usageOf(reader: UsageReader, counters: Counters | null): Usage | null {
  return counters === null ? null : toUsage(reader.toTokenCounts(counters), false);
}

function toUsage(tokens: TokenCounts | null, isPartial: boolean): Usage | null {
  return tokens === null ? null : { ...tokens, isPartial };
}
