// Which models reason: a model that is missing here costs money, and one too many makes aborted responses dear.
import { expect, test } from "bun:test";
import { reasoningOfModel, turnsReasoningOff, type ModelReasoning } from "./model-reasoning.ts";

const MODELS: Readonly<Record<ModelReasoning, readonly string[]>> = {
  always: [
    ...["o1", "o3", "openai/o4-mini", "o3-deep-research", "gpt-5", "gpt-5-mini-2025-08-07", "gpt-5.2-pro"],
    ...["gpt-5.1-codex-mini", "gpt-7"],
    ...["gemini-2.5-pro", "gemini-3-pro-preview", "gemini-3.7-flash", "claude-fable-5-1", "claude-opus-5-5"],
    ...["deepseek-reasoner", "deepseek-ai/DeepSeek-R1", "qwq-32b", "magistral-medium-2509", "grok-4"],
    ...["openai/gpt-oss-120b", "kimi-k2-thinking", "sonar-reasoning-pro"],
  ],
  by_default: [
    ...["gpt-5.5", "openai/gpt-5.6-sol", "gpt-5.5-2026-05-01", "gemini-2.5-flash"],
    ...["claude-sonnet-5", "anthropic.claude-opus-5-v1:0", "qwen3-32b", "glm-4.6", "deepseek-v3.2"],
  ],
  if_asked: [
    ...[
      "claude-sonnet-4-6",
      "claude-3-7-sonnet-20250219",
      "gpt-5.1",
      "gpt-5.4-mini",
      "gemini-2.5-flash-lite",
    ],
    ...["my-deployment", "mistral-large-latest", "llama-3.3-70b", ""],
  ],
  never: [
    ...["gpt-4o", "gpt-4.1-mini", "gpt-5-chat-latest", "claude-3-5-haiku-20241022", "gemini-2.0-flash"],
    ...["qwen3-30b-a3b-instruct-2507", "grok-4-fast-non-reasoning"],
  ],
};

for (const [kind, models] of Object.entries(MODELS))
  test.each([...models])(`%s reasons: ${kind}`, (model) => {
    expect<string>(reasoningOfModel(model)).toBe(kind);
  });

test("a model that is not known may be asked to reason", () => {
  expect(reasoningOfModel(null)).toBe("if_asked");
});

test.each([
  ["gpt-5.5", "chat", "reasoning_effort", true],
  ["gpt-5.5", "chat", "enable_thinking", false],
  ["gpt-5.5", "responses", "reasoning", true],
  ["gpt-5.5", "responses", "reasoning_effort", false],
  ["claude-sonnet-5", "messages", "thinking", true],
  ["claude-sonnet-5", "chat", "thinking", true],
  ["claude-sonnet-5", "chat", "think", false],
  ["gemini-2.5-flash", "generate_content", "generationConfig", true],
  ["gemini-2.5-flash", "chat", "generationConfig", false],
  ["gemini-2.5-flash", null, "generationConfig", true],
  ["qwen/qwen3-32b", "chat", "chat_template_kwargs", true],
  ["qwen/qwen3-32b", "chat", "reasoning_effort", false],
  ["my-deployment", "chat", "thinking", true],
  ["my-deployment", "embeddings", "thinking", false],
] as const)("%s, %p: %s turns reasoning off: %p", (model, operation, field, expected) => {
  expect(turnsReasoningOff(model, operation, field)).toBe(expected);
});
