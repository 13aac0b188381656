// Recognition of Anthropic request bodies, feature by feature.
import { describe, expect, test } from "bun:test";
import { isAnthropicRequest } from "./recognize-request.ts";

const USER = { role: "user", content: "Hi" };
const PLAIN = { model: "claude-sonnet-5", max_tokens: 10, messages: [USER] };

function withBlock(block: object) {
  return { ...PLAIN, messages: [{ role: "user", content: [{ type: "text", text: "a" }, block] }] };
}

describe("isAnthropicBody", () => {
  test.each<[string, unknown]>([
    ["plain text with max_tokens", PLAIN],
    ["system", { messages: [USER], system: "Be brief." }],
    [
      "system beside a mid-conversation system message",
      {
        ...PLAIN,
        system: "a",
        messages: [USER, { role: "system", content: "b" }],
      },
    ],
    ["stop_sequences", { messages: [USER], stop_sequences: ["END"] }],
    ["anthropic_version", { messages: [USER], anthropic_version: "bedrock-2023-05-31" }],
    ["output_config", { ...PLAIN, output_config: { effort: "low" } }],
    ["a tool with input_schema", { ...PLAIN, tools: [{ name: "f", input_schema: { type: "object" } }] }],
    ["a server tool", { ...PLAIN, tools: [{ type: "web_search_20250305", name: "web_search" }] }],
    ["an object tool_choice", { ...PLAIN, tool_choice: { type: "any" } }],
    ["an empty tools array", { ...PLAIN, tools: [] }],
    ["tool_result", withBlock({ type: "tool_result", tool_use_id: "1", content: "x" })],
    ["tool_use", withBlock({ type: "tool_use", id: "1", name: "f", input: {} })],
    ["image with a source", withBlock({ type: "image", source: { type: "url", url: "https://a/b.png" } })],
    ["document", withBlock({ type: "document", source: {} })],
    [
      "fields of both formats",
      { ...PLAIN, top_k: 5, metadata: { user_id: "u" }, thinking: { type: "adaptive" } },
    ],
    ["text parts", withBlock({ type: "text", text: "b", cache_control: { type: "ephemeral" } })],
  ])("true: %s", (_, body) => {
    expect(isAnthropicRequest(body)).toBe(true);
  });

  test.each<[string, unknown]>([
    ["not an object", [PLAIN]],
    ["plain text without max_tokens", { model: "m", messages: [USER] }],
    ["role system", { ...PLAIN, messages: [{ role: "system", content: "a" }, USER] }],
    ["role developer", { ...PLAIN, messages: [{ role: "developer", content: "a" }, USER] }],
    ["role tool", { ...PLAIN, messages: [USER, { role: "tool", tool_call_id: "1", content: "x" }] }],
    ["tool_calls", { ...PLAIN, messages: [USER, { role: "assistant", tool_calls: [] }] }],
    ["null content", { ...PLAIN, messages: [USER, { role: "assistant", content: null }] }],
    ["a named message", { ...PLAIN, messages: [{ ...USER, name: "ann" }] }],
    ["image_url", withBlock({ type: "image_url", image_url: { url: "https://a/b.png" } })],
    ["file", withBlock({ type: "file", file: {} })],
    ["a function tool", { ...PLAIN, tools: [{ type: "function", function: { name: "f" } }] }],
    ["tool_choice as a string", { ...PLAIN, tool_choice: "auto" }],
    [
      "tool_choice with a named function",
      {
        ...PLAIN,
        tool_choice: { type: "function", function: { name: "f" } },
      },
    ],
    ["stop", { ...PLAIN, stop: "END" }],
    ["stop: null, which Anthropic rejects", { ...PLAIN, stop: null }],
    ["max_completion_tokens", { ...PLAIN, max_completion_tokens: 5 }],
    ["stream_options", { ...PLAIN, stream: true, stream_options: { include_usage: true } }],
    ["response_format", { ...PLAIN, response_format: { type: "json_object" } }],
    ["n", { ...PLAIN, n: 1 }],
    ["user", { ...PLAIN, user: "u" }],
    ["a temperature that only OpenAI accepts", { ...PLAIN, temperature: 1.5 }],
    ["messages that are not an array", { messages: "Hi" }],
  ])("false: %s", (_, body) => {
    expect(isAnthropicRequest(body)).toBe(false);
  });
});
