// How Anthropic messages report token usage.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { objectsIn, textOrEmpty } from "../json-values.ts";
import { reportedTokens, type ReportedTokens } from "../token-counts.ts";
import { UsageReader, type Counters, type EventUsage } from "../usage-reader.ts";
import { ABSENT, toCount } from "../usage-scanner.ts";

const COMPACTION = "compaction";

export const anthropicUsage = new UsageReader({
  key: "usage",
  counters: [
    "input_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "output_tokens",
    "cache_creation.ephemeral_5m_input_tokens",
    "cache_creation.ephemeral_1h_input_tokens",
    "output_tokens_details.thinking_tokens",
  ],
  lists: {
    marker: COMPACTION,
    size: 5,
    countersOf: countersOfCompactions,
  },
  toTokenCounts,
  findInEvent,
  textOf,
  textOfBody: ({ content }) => objectsIn(content).map(textOfBlock).join(""),
});

/** The summaries that shorten a long conversation are iterations of a request, and not part of its counters. */
function countersOfCompactions({ iterations }: JsonObject): Counters {
  const compactions = objectsIn(iterations).filter(({ type }) => type === COMPACTION);
  const sumOf = (name: string, group?: string) =>
    compactions.reduce((sum, each) => {
      const counters = group === undefined ? each : each[group];
      return sum + Math.max(toCount(isJsonObject(counters) ? counters[name] : undefined), 0);
    }, 0);
  return [
    sumOf("input_tokens"),
    sumOf("cache_read_input_tokens"),
    sumOf("cache_creation_input_tokens"),
    sumOf("ephemeral_1h_input_tokens", "cache_creation"),
    sumOf("output_tokens"),
  ].map((sum) => (compactions.length === 0 ? ABSENT : toCount(sum)));
}

/** Cached input is not part of `input_tokens` and is added. Thinking is part of `output_tokens`. */
function toTokenCounts([
  input = ABSENT,
  cacheRead = ABSENT,
  cacheWrite = ABSENT,
  output = ABSENT,
  cacheWrite5m = ABSENT,
  cacheWrite1h = ABSENT,
  thinking = ABSENT,
  compactedInput = ABSENT,
  compactedRead = ABSENT,
  compactedWrite = ABSENT,
  compactedWrite1h = ABSENT,
  compactedOutput = ABSENT,
]: Counters): ReportedTokens | null {
  const ownWritten = cacheWrite === ABSENT ? sumOfKnown(cacheWrite5m, cacheWrite1h) : cacheWrite;
  const read = sumOfKnown(cacheRead, compactedRead);
  const written = sumOfKnown(ownWritten, compactedWrite);
  const written1h = Math.min(sumOfKnown(cacheWrite1h, compactedWrite1h), written);
  const knownInput = Math.max(compactedInput, 0) + read + written;
  const knownOutput = Math.max(compactedOutput, 0);
  const counts = {
    input: input === ABSENT ? ABSENT : input + knownInput,
    output: output === ABSENT ? ABSENT : output + knownOutput,
    total: ABSENT,
    knownInput,
    knownOutput,
  };
  return reportedTokens(counts, {
    cachedInputTokens: read,
    // Cache entries live for five minutes unless the request says otherwise.
    cacheWrite5mTokens: written - written1h,
    cacheWrite1hTokens: written1h,
    audioInputTokens: 0,
    reasoningTokens: thinking,
    audioOutputTokens: 0,
  });
}

/** An absent counter is below 0. */
function sumOfKnown(first: number, second: number): number {
  return Math.max(first, 0) + Math.max(second, 0);
}

/** `message_start` reports the input and `message_delta` the output. */
function findInEvent({ type, usage, message }: JsonObject): EventUsage | null {
  if (isJsonObject(usage))
    return { usage, stage: type === "message_delta" ? "final" : "running", isUsageOnly: false };
  if (!isJsonObject(message) || !isJsonObject(message["usage"])) return null;
  return { usage: message["usage"], stage: "start", isUsageOnly: false };
}

/** A block of a tool starts with its name; the content of all blocks follows in deltas. */
function textOf({ type, delta, content_block }: JsonObject): string {
  const part = type === "content_block_delta" ? delta : type === "content_block_start" ? content_block : null;
  return isJsonObject(part) ? textOfBlock(part) : "";
}

/** The text of a document that is cited is no output (`citations_delta`). The input of a block that only starts is empty. */
function textOfBlock({ thinking, text, partial_json, name, input }: JsonObject): string {
  const call = isJsonObject(input) && Object.keys(input).length > 0 ? JSON.stringify(input) : "";
  return textOrEmpty(thinking) + textOrEmpty(text) + textOrEmpty(partial_json) + textOrEmpty(name) + call;
}
