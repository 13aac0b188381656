// How OpenAI's APIs report token usage: chat completions, completions, embeddings, and responses.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { UsageReader, type Counters, type EventUsage, type TokenCounts } from "../usage-reader.ts";
import { ABSENT } from "../usage-scanner.ts";

export const openaiUsage = new UsageReader({
  key: "usage",
  counters: ["prompt_tokens", "completion_tokens", "total_tokens", "input_tokens", "output_tokens"],
  toTokenCounts,
  findInEvent,
});

/** Cached input is part of `prompt_tokens`. The Responses API has `input_tokens` and `output_tokens` instead. */
function toTokenCounts([
  prompt = ABSENT,
  completion = ABSENT,
  total = ABSENT,
  responsesInput = ABSENT,
  responsesOutput = ABSENT,
]: Counters): TokenCounts | null {
  const input = prompt === ABSENT ? responsesInput : prompt;
  const output = completion === ABSENT ? responsesOutput : completion;
  if (input === ABSENT && output === ABSENT && total === ABSENT) return null;
  const inputTokens = Math.max(input, 0);
  // Some providers count reasoning only in `total_tokens`, not in `completion_tokens`.
  return { inputTokens, outputTokens: Math.max(output, total - inputTokens, 0) };
}

function findInEvent({ type, usage, choices, response }: JsonObject): EventUsage | null {
  if (isJsonObject(usage)) {
    const isUsageOnly = Array.isArray(choices) && choices.length === 0;
    return { usage, stage: isUsageOnly ? "final" : "running", isUsageOnly };
  }
  // Events of the Responses API carry the response object. Only that of the last event has usage.
  if (!isJsonObject(response) || !isJsonObject(response["usage"])) return null;
  const stage = type === "response.completed" ? "final" : "running";
  return { usage: response["usage"], stage, isUsageOnly: false };
}
