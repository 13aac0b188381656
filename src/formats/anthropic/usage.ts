// How Anthropic messages report token usage.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { textOrEmpty } from "../event-text.ts";
import { tokenCounts, type TokenCounts } from "../token-counts.ts";
import { UsageReader, type Counters, type EventUsage } from "../usage-reader.ts";
import { ABSENT } from "../usage-scanner.ts";

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
  toTokenCounts,
  findInEvent,
  textOf,
});

/** Cached input is not part of `input_tokens` and is added. Thinking is part of `output_tokens`. */
function toTokenCounts([
  input = ABSENT,
  cacheRead = ABSENT,
  cacheWrite = ABSENT,
  output = ABSENT,
  cacheWrite5m = ABSENT,
  cacheWrite1h = ABSENT,
  thinking = ABSENT,
]: Counters): TokenCounts | null {
  if (input === ABSENT && cacheRead === ABSENT && cacheWrite === ABSENT && output === ABSENT) return null;
  const read = Math.max(cacheRead, 0);
  const written = cacheWrite === ABSENT ? Math.max(cacheWrite5m, 0) + Math.max(cacheWrite1h, 0) : cacheWrite;
  const written1h = Math.min(Math.max(cacheWrite1h, 0), written);
  return tokenCounts(Math.max(input, 0) + read + written, Math.max(output, 0), {
    cachedInputTokens: read,
    // Cache entries live for five minutes unless the request says otherwise.
    cacheWrite5mTokens: written - written1h,
    cacheWrite1hTokens: written1h,
    audioInputTokens: 0,
    reasoningTokens: thinking,
    audioOutputTokens: 0,
  });
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
  if (!isJsonObject(part)) return "";
  const { thinking, text, partial_json, name } = part;
  return textOrEmpty(thinking) + textOrEmpty(text) + textOrEmpty(partial_json) + textOrEmpty(name);
}
