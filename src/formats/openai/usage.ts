// How OpenAI's APIs report token usage: chat completions, completions, embeddings, and responses.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { reportedTokens, type ReportedTokens } from "../token-counts.ts";
import { UsageReader, type Counters, type EventUsage } from "../usage-reader.ts";
import { ABSENT } from "../usage-scanner.ts";
import { openaiBodyText, openaiEventText } from "./event-text.ts";

const LAST_EVENT = /\.(?:completed|incomplete|failed|done)$/;

export const openaiUsage = new UsageReader({
  key: "usage",
  counters: [
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "input_tokens",
    "output_tokens",
    "prompt_tokens_details.cached_tokens",
    "prompt_tokens_details.cache_write_tokens",
    "prompt_tokens_details.audio_tokens",
    "completion_tokens_details.reasoning_tokens",
    "completion_tokens_details.audio_tokens",
    "input_tokens_details.cached_tokens",
    "input_tokens_details.cache_write_tokens",
    "input_tokens_details.audio_tokens",
    "output_tokens_details.reasoning_tokens",
    "output_tokens_details.audio_tokens",
    // DeepSeek
    "prompt_cache_hit_tokens",
    // Moonshot
    "cached_tokens",
    // Transcriptions
    "input_token_details.audio_tokens",
  ],
  toTokenCounts,
  findInEvent,
  textOf: openaiEventText,
  textOfBody: openaiBodyText,
});

/**
 * Cached input is part of the input, and reasoning is part of the output. The Responses API has `input_tokens` and
 * `output_tokens` instead of `prompt_tokens` and `completion_tokens`. Embeddings and rerankings of some providers have only
 * `total_tokens`, which is their input.
 */
function toTokenCounts([
  prompt = ABSENT,
  completion = ABSENT,
  total = ABSENT,
  responsesInput = ABSENT,
  responsesOutput = ABSENT,
  cached = ABSENT,
  cacheWrite = ABSENT,
  audioInput = ABSENT,
  reasoning = ABSENT,
  audioOutput = ABSENT,
  responsesCached = ABSENT,
  responsesCacheWrite = ABSENT,
  responsesAudioInput = ABSENT,
  responsesReasoning = ABSENT,
  responsesAudioOutput = ABSENT,
  cacheHits = ABSENT,
  cachedInput = ABSENT,
  transcribedAudio = ABSENT,
]: Counters): ReportedTokens | null {
  const input = prompt === ABSENT ? responsesInput : prompt;
  const output = completion === ABSENT ? responsesOutput : completion;
  return reportedTokens(
    { input, output, total },
    {
      cachedInputTokens: Math.max(cached, responsesCached, cacheHits, cachedInput),
      cacheWrite5mTokens: Math.max(cacheWrite, responsesCacheWrite),
      cacheWrite1hTokens: 0,
      audioInputTokens: Math.max(audioInput, responsesAudioInput, transcribedAudio),
      reasoningTokens: Math.max(reasoning, responsesReasoning),
      audioOutputTokens: Math.max(audioOutput, responsesAudioOutput),
    },
  );
}

function findInEvent({ type, usage, choices, response }: JsonObject): EventUsage | null {
  if (isJsonObject(usage)) {
    const isUsageOnly = Array.isArray(choices) && choices.length === 0;
    // Some servers send the input in an event of its own, before the text.
    const isEnd = isUsageOnly && usage["completion_tokens"] !== 0;
    return { usage, stage: isEnd || isLast(type) ? "final" : "running", isUsageOnly };
  }
  // Events of the Responses API carry the response object. Only that of the last event has usage.
  if (!isJsonObject(response) || !isJsonObject(response["usage"])) return null;
  return { usage: response["usage"], stage: isLast(type) ? "final" : "running", isUsageOnly: false };
}

/** Whether an event ends its stream: of a response, an image, a transcription, or speech. */
function isLast(type: unknown): boolean {
  return typeof type === "string" && LAST_EVENT.test(type);
}
