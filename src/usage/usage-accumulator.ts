// Combines the usage that a provider reports in one response, possibly in several stream events, into one token count.
import { isJsonObject } from "../base/json.ts";
import { tokenCounts, type ReportedTokens, type UnknownCounts } from "../formats/token-counts.ts";
import { addCounters, type Counters, type EventUsage, type UsageReader } from "../formats/usage-reader.ts";

/** The tokens that one response used. */
export interface Usage extends ReportedTokens {
  /**
   * The provider did not report all tokens, as of a response that was cut. What it did not report is estimated. `unknown` then says which ones;
   * without it the output, and the input if it is 0.
   */
  readonly isPartial: boolean;
  /** The relayed part of a stream contains audio or images, and their tokens are neither reported nor estimated. */
  readonly hasMedia?: boolean;
  /** The estimated tokens of the text that was relayed, if the output is not known. */
  readonly relayedTokens?: number;
}

/** Whether the provider has reported all of the output, or the sum of the input and the output. */
export function isOutputKnown({ isPartial, unknown }: Pick<Usage, "isPartial" | "unknown">): boolean {
  return !isPartial || unknown === "input" || unknown === "split";
}

/** Whether the input has to be estimated. */
export function isInputUnknown({
  isPartial,
  unknown,
  inputTokens,
}: Pick<Usage, "isPartial" | "unknown" | "inputTokens">): boolean {
  return isPartial && (inputTokens === 0 || unknown === "input" || unknown === "both");
}

/** Whether the text of the response decides about the output: if it is unknown, or if only zeros were reported. */
export function needsText(usage: Usage): boolean {
  return usage.inputTokens + usage.outputTokens === 0 || !isOutputKnown(usage);
}

/**
 * Returns the usage with the output that the text of the response has about. Only zeros are no counts of a text: some servers report them always.
 */
export function withTextOutput(usage: Usage, tokens: number, hasMedia: boolean): Usage {
  if (!isOutputKnown(usage)) {
    const outputTokens = Math.max(tokens, usage.outputTokens);
    return { ...usage, outputTokens, isPartial: true, hasMedia, relayedTokens: tokens };
  }
  if (!needsText(usage) || tokens === 0) return usage;
  return {
    ...usage,
    outputTokens: tokens,
    isPartial: true,
    unknown: "both",
    hasMedia,
    relayedTokens: tokens,
  };
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
  /** How often final counts were reported. */
  finalCount = 0;
  /** Only the usage at the start of a stream has been reported. */
  #isStartOnly = false;
  /** The last usage says nothing usable about the output, and what was reported earlier is only that of the first part. */
  #lacksOutput = false;

  constructor(reader: UsageReader) {
    this.#reader = reader;
  }

  add(counters: Counters, stage: EventUsage["stage"]): void {
    const isFirst = this.#counters === null;
    this.#counters = addCounters(this.#counters, counters);
    if (this.#hasOutput(counters)) this.#lacksOutput = false;
    else this.#lacksOutput ||= !this.#isFinal;
    if (stage === "final") {
      this.#isFinal = true;
      this.finalCount++;
    }
    this.#isStartOnly = isFirst && stage === "start";
  }

  /** Whether the counters say how many output tokens there are. Some servers end a stream with counters of 0, whatever they have reported before. */
  #hasOutput(counters: Counters): boolean {
    const own = this.#reader.toTokenCounts(counters);
    if (own === null || own.unknown === "output" || own.unknown === "both") return false;
    if (own.outputTokens > 0 || own.unknown === "split") return true;
    const all = this.#counters === null ? null : this.#reader.toTokenCounts(this.#counters);
    return all === null || all.outputTokens === 0;
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
    const isCut = !this.#isFinal && (!isComplete || this.#isStartOnly);
    const tokens = this.#reader.toTokenCounts(this.#counters);
    if (tokens === null) return null;
    const unknown = isCut || this.#lacksOutput ? withOutput(tokens.unknown) : tokens.unknown;
    return unknown === undefined ? { ...tokens, isPartial: false } : { ...tokens, isPartial: true, unknown };
  }
}

/** Counts of which the output is unknown, too. */
function withOutput(unknown: UnknownCounts | undefined): UnknownCounts {
  return unknown === undefined || unknown === "output" ? "output" : "both";
}

/** Returns the usage of a complete body that has these counters. */
export function usageOf(reader: UsageReader, counters: Counters | null): Usage | null {
  const tokens = counters === null ? null : reader.toTokenCounts(counters);
  return tokens === null ? null : { ...tokens, isPartial: tokens.unknown !== undefined };
}
