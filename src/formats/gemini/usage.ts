// How Gemini reports token usage.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { objectsIn, textOrEmpty } from "../json-values.ts";
import { reportedTokens, type ReportedTokens } from "../token-counts.ts";
import { UsageReader, type Counters, type EventUsage } from "../usage-reader.ts";
import { ABSENT, toCount } from "../usage-scanner.ts";
import { endingOf, firstCandidate } from "./ending.ts";

const AUDIO = "AUDIO";
/** Counts by modality. */
const LISTS = ["promptTokensDetails", "cacheTokensDetails", "candidatesTokensDetails"] as const;

export const geminiUsage = new UsageReader({
  key: "usageMetadata",
  counters: [
    "promptTokenCount",
    "cachedContentTokenCount",
    "toolUsePromptTokenCount",
    "candidatesTokenCount",
    "thoughtsTokenCount",
    "totalTokenCount",
  ],
  lists: {
    marker: AUDIO,
    size: LISTS.length,
    countersOf: (usage) => LISTS.map((name) => audioTokensIn(usage[name])),
  },
  toTokenCounts,
  findInEvent,
  textOf,
  textOfBody: textOf,
});

function audioTokensIn(list: unknown): number {
  return toCount(objectsIn(list).find(({ modality }) => modality === AUDIO)?.["tokenCount"]);
}

/** Cached input is part of the prompt. Results of tools that Google runs, and thoughts, are counted separately and added. */
function toTokenCounts([
  prompt = ABSENT,
  cached = ABSENT,
  toolUse = ABSENT,
  candidates = ABSENT,
  thoughts = ABSENT,
  total = ABSENT,
  audio = ABSENT,
  cachedAudio = ABSENT,
  audioOutput = ABSENT,
]: Counters): ReportedTokens | null {
  const knownInput = Math.max(toolUse, 0);
  const knownOutput = Math.max(thoughts, 0);
  const counts = {
    input: prompt === ABSENT ? ABSENT : prompt + knownInput,
    output: candidates === ABSENT ? ABSENT : candidates + knownOutput,
    total,
    knownInput,
    knownOutput,
  };
  return reportedTokens(counts, {
    cachedInputTokens: cached,
    cacheWrite5mTokens: 0,
    cacheWrite1hTokens: 0,
    // Cached audio is part of both lists; each token is counted once, as cached.
    audioInputTokens: audio - Math.max(cachedAudio, 0),
    reasoningTokens: thoughts,
    audioOutputTokens: audioOutput,
  });
}

/** Every event reports the counts so far; the last one has a finish reason. */
function findInEvent(event: JsonObject): EventUsage | null {
  const { usageMetadata: usage } = event;
  if (!isJsonObject(usage)) return null;
  const isLast = endingOf(event, firstCandidate(event)) !== null;
  return { usage, stage: isLast ? "final" : "running", isUsageOnly: false };
}

function textOf({ candidates }: JsonObject): string {
  return objectsIn(candidates)
    .flatMap(({ content }) => (isJsonObject(content) ? objectsIn(content["parts"]) : []))
    .map(({ text, functionCall }) => textOrEmpty(text) + textOfCall(functionCall))
    .join("");
}

function textOfCall(call: unknown): string {
  return isJsonObject(call) ? textOrEmpty(call["name"]) + JSON.stringify(call["args"] ?? {}) : "";
}
