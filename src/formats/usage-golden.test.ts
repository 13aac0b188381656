// Usage objects as providers send them, and the token counts that they mean: every token is counted once.
import { describe, expect, test } from "bun:test";
import { ANTHROPIC } from "./anthropic/anthropic-format.ts";
import { GEMINI } from "./gemini/gemini-format.ts";
import { OPENAI } from "./openai/openai-format.ts";
import type { Format } from "./format.ts";

const NONE = {
  cachedInputTokens: 0,
  cacheWrite5mTokens: 0,
  cacheWrite1hTokens: 0,
  audioInputTokens: 0,
  reasoningTokens: 0,
  audioOutputTokens: 0,
};

const CASES: [string, Format, object, object][] = [
  [
    "OpenAI chat: cached input is inside the input, reasoning inside the output",
    OPENAI,
    {
      prompt_tokens: 2006,
      completion_tokens: 300,
      total_tokens: 2306,
      prompt_tokens_details: { cached_tokens: 1920, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 192, audio_tokens: 0, accepted_prediction_tokens: 0 },
    },
    { inputTokens: 2006, outputTokens: 300, cachedInputTokens: 1920, reasoningTokens: 192 },
  ],
  [
    "OpenAI responses: the same with other names",
    OPENAI,
    {
      input_tokens: 328,
      input_tokens_details: { cached_tokens: 128 },
      output_tokens: 52,
      output_tokens_details: { reasoning_tokens: 32 },
      total_tokens: 380,
    },
    { inputTokens: 328, outputTokens: 52, cachedInputTokens: 128, reasoningTokens: 32 },
  ],
  [
    "OpenAI chat with audio",
    OPENAI,
    {
      prompt_tokens: 100,
      completion_tokens: 80,
      prompt_tokens_details: { audio_tokens: 60, cached_tokens: 30, text_tokens: 40 },
      completion_tokens_details: { audio_tokens: 50, text_tokens: 30 },
    },
    {
      inputTokens: 100,
      outputTokens: 80,
      cachedInputTokens: 30,
      audioInputTokens: 60,
      audioOutputTokens: 50,
    },
  ],
  [
    "Gemini's OpenAI endpoint: thoughts are only in the total and are added to the output",
    OPENAI,
    { prompt_tokens: 10, completion_tokens: 20, total_tokens: 130 },
    { inputTokens: 10, outputTokens: 120, reasoningTokens: 100 },
  ],
  [
    "DeepSeek: cache hits have a counter of their own inside the input",
    OPENAI,
    {
      prompt_tokens: 100,
      completion_tokens: 5,
      prompt_cache_hit_tokens: 64,
      prompt_cache_miss_tokens: 36,
      total_tokens: 105,
    },
    { inputTokens: 100, outputTokens: 5, cachedInputTokens: 64 },
  ],
  [
    "Moonshot: cached input is beside the other counters, and inside the input",
    OPENAI,
    { prompt_tokens: 100, completion_tokens: 5, total_tokens: 105, cached_tokens: 80 },
    { inputTokens: 100, outputTokens: 5, cachedInputTokens: 80 },
  ],
  [
    "OpenAI transcriptions: audio inside the input, in details with another name",
    OPENAI,
    {
      type: "tokens",
      input_tokens: 14,
      input_token_details: { text_tokens: 4, audio_tokens: 10 },
      output_tokens: 45,
      total_tokens: 59,
    },
    { inputTokens: 14, outputTokens: 45, audioInputTokens: 10 },
  ],
  [
    "Voyage's embeddings and Jina's rerankings: the total is input, unless the operation has output",
    OPENAI,
    { total_tokens: 8 },
    { inputTokens: 8, outputTokens: 0, unknown: "split" },
  ],
  [
    "an input that is no count is what the output leaves of the total, and no reasoning",
    OPENAI,
    { prompt_tokens: "7", completion_tokens: 5, total_tokens: 12 },
    { inputTokens: 7, outputTokens: 5 },
  ],
  [
    "more cached tokens than input count as much as the input",
    OPENAI,
    {
      prompt_tokens: 10,
      completion_tokens: 1,
      prompt_tokens_details: { cached_tokens: 99, audio_tokens: 5 },
    },
    { inputTokens: 10, outputTokens: 1, cachedInputTokens: 10 },
  ],
  [
    "Anthropic: cache reads and writes are beside the input and are added to it",
    ANTHROPIC,
    {
      input_tokens: 2048,
      cache_read_input_tokens: 1800,
      cache_creation_input_tokens: 248,
      cache_creation: { ephemeral_5m_input_tokens: 148, ephemeral_1h_input_tokens: 100 },
      output_tokens: 503,
      service_tier: "standard",
    },
    {
      inputTokens: 4096,
      outputTokens: 503,
      cachedInputTokens: 1800,
      cacheWrite5mTokens: 148,
      cacheWrite1hTokens: 100,
    },
  ],
  [
    "Anthropic without the lifetimes of cache writes: five minutes, the default",
    ANTHROPIC,
    { input_tokens: 1, cache_creation_input_tokens: 7, cache_read_input_tokens: 0, output_tokens: 2 },
    { inputTokens: 8, outputTokens: 2, cacheWrite5mTokens: 7 },
  ],
  [
    "Anthropic with thinking inside the output",
    ANTHROPIC,
    { input_tokens: 5, output_tokens: 40, output_tokens_details: { thinking_tokens: 30 } },
    { inputTokens: 5, outputTokens: 40, reasoningTokens: 30 },
  ],
  [
    "Anthropic with compaction: its iterations are beside the counters and are added",
    ANTHROPIC,
    {
      input_tokens: 23000,
      output_tokens: 1000,
      cache_read_input_tokens: 200,
      iterations: [
        {
          type: "compaction",
          input_tokens: 180000,
          output_tokens: 3500,
          cache_read_input_tokens: 50,
          cache_creation_input_tokens: 30,
          cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 },
        },
        { type: "message", input_tokens: 23000, output_tokens: 1000, cache_read_input_tokens: 200 },
      ],
    },
    {
      inputTokens: 203280,
      outputTokens: 4500,
      cachedInputTokens: 250,
      cacheWrite5mTokens: 10,
      cacheWrite1hTokens: 20,
    },
  ],
  [
    "Gemini: cached content is inside the prompt, and thoughts are added to the output",
    GEMINI,
    {
      promptTokenCount: 2152,
      cachedContentTokenCount: 2027,
      candidatesTokenCount: 58,
      thoughtsTokenCount: 421,
      totalTokenCount: 2631,
      promptTokensDetails: [{ modality: "TEXT", tokenCount: 2152 }],
      cacheTokensDetails: [{ modality: "TEXT", tokenCount: 2027 }],
    },
    { inputTokens: 2152, outputTokens: 479, cachedInputTokens: 2027, reasoningTokens: 421 },
  ],
  [
    "Gemini: results of tools that Google runs are added to the input",
    GEMINI,
    { promptTokenCount: 12, toolUsePromptTokenCount: 88, candidatesTokenCount: 30, totalTokenCount: 130 },
    { inputTokens: 100, outputTokens: 30 },
  ],
  [
    "Gemini with audio: inside the prompt and the output, and cached audio counts as cached",
    GEMINI,
    {
      promptTokenCount: 1500,
      cachedContentTokenCount: 300,
      candidatesTokenCount: 90,
      totalTokenCount: 1590,
      promptTokensDetails: [
        { modality: "TEXT", tokenCount: 500 },
        { modality: "AUDIO", tokenCount: 1000 },
      ],
      cacheTokensDetails: [{ modality: "AUDIO", tokenCount: 200 }],
      candidatesTokensDetails: [{ tokenCount: 80, modality: "AUDIO" }],
    },
    {
      inputTokens: 1500,
      outputTokens: 90,
      cachedInputTokens: 300,
      audioInputTokens: 800,
      audioOutputTokens: 80,
    },
  ],
  [
    "Gemini that spent all tokens on thoughts",
    GEMINI,
    { promptTokenCount: 9, thoughtsTokenCount: 64, totalTokenCount: 73 },
    { inputTokens: 9, outputTokens: 64, reasoningTokens: 64 },
  ],
];

describe("token counts of", () => {
  test.each(CASES)("%s", (_, { usage: reader, name }, usage, expected) => {
    const key = name === "gemini" ? "usageMetadata" : "usage";
    for (const indent of [0, 2]) {
      const body = new TextEncoder().encode(
        JSON.stringify({ id: "x", [key]: usage, model: "m" }, null, indent),
      );
      const counters = reader.readBody(body);
      expect(counters === null ? null : reader.toTokenCounts(counters)).toEqual({
        ...NONE,
        ...expected,
      } as never);
      expect(counters).toEqual(reader.countersOf({ ...usage }));
    }
  });
});
