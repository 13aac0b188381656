// Names of Claude models, as Anthropic, Amazon Bedrock, Vertex AI and routers write them, and what the models accept.
import { expect, test } from "bun:test";
import { claudeModelOf } from "./claude-models.ts";

test.each([
  ["claude-3-haiku-20240307", "none", "omit"],
  ["claude-3-5-sonnet-latest", "none", "omit"],
  ["claude-3-7-sonnet-20250219", "budget", "omit"],
  ["claude-opus-4-20250514", "budget", "omit"],
  ["claude-sonnet-4@20250514", "budget", "omit"],
  ["anthropic/claude-opus-4.5", "budget", "omit"],
  ["us.anthropic.claude-sonnet-4-5-20250929-v1:0", "budget", "omit"],
  ["anthropic.claude-opus-4-6-v1:0", "adaptive", "omit"],
  ["claude-sonnet-4-6", "adaptive", "omit"],
  ["claude-opus-4-8", "adaptive", "omit"],
  ["claude-opus-4-10", "adaptive", "omit"],
  ["claude-sonnet-5", "adaptive", "disabled"],
  ["claude-haiku-5-5", "adaptive", "disabled"],
  ["claude-sonnet-5-5", "adaptive", "between_tools"],
  ["claude-opus-5-5", "adaptive", null],
  ["claude-fable-5", "adaptive", null],
  ["claude-mythos-preview", "adaptive", null],
  ["claude-opus-6", "adaptive", null],
  ["kimi-k2", "budget", "omit"],
  [undefined, "budget", "omit"],
] as const)("%s thinks with %p and turns thinking off with %p", (name, thinking, off) => {
  expect(claudeModelOf(name)).toMatchObject({ thinking, off });
});

test("newer models reject sampling parameters, hide their thinking, and think by default", () => {
  const newest = { hasSampling: false, hidesThinking: true };
  expect(claudeModelOf("claude-opus-4-6")).toMatchObject({ hasSampling: true, hidesThinking: false });
  expect(claudeModelOf("claude-opus-4-7")).toMatchObject({ ...newest, thinksByDefault: false });
  expect(claudeModelOf("claude-opus-5")).toMatchObject({ ...newest, thinksByDefault: true });
});

test.each([
  ["claude-opus-5", true],
  ["claude-haiku-5-5", true],
  ["claude-fable-5", true],
  ["claude-fable-5-1", false],
  ["claude-sonnet-5-5", false],
  ["claude-opus-5-5", false],
])("%s can be forced to call a tool: %p", (name, hasForcedTools) => {
  expect(claudeModelOf(name).hasForcedTools).toBe(hasForcedTools);
});
