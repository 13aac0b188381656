// How Anthropic messages report token usage.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { UsageReader, type Counters, type EventUsage, type TokenCounts } from "../usage-reader.ts";
import { ABSENT } from "../usage-scanner.ts";

export const anthropicUsage = new UsageReader({
  key: "usage",
  counters: ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens"],
  toTokenCounts,
  findInEvent,
});

/** Cached input is not part of `input_tokens` and is added. */
function toTokenCounts([
  input = ABSENT,
  cacheRead = ABSENT,
  cacheWrite = ABSENT,
  output = ABSENT,
]: Counters): TokenCounts | null {
  if (input === ABSENT && cacheRead === ABSENT && cacheWrite === ABSENT && output === ABSENT) return null;
  return {
    inputTokens: Math.max(input, 0) + Math.max(cacheRead, 0) + Math.max(cacheWrite, 0),
    outputTokens: Math.max(output, 0),
  };
}

/** `message_start` reports the input and `message_delta` the output. */
function findInEvent({ type, usage, message }: JsonObject): EventUsage | null {
  if (isJsonObject(usage))
    return { usage, stage: type === "message_delta" ? "final" : "running", isUsageOnly: false };
  if (!isJsonObject(message) || !isJsonObject(message["usage"])) return null;
  return { usage: message["usage"], stage: "start", isUsageOnly: false };
}
