// Requests of clients with Anthropic's format. The golden files have a case for each field.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { JsonObject } from "../../base/json.ts";
import { encodeRequest as encodeChatRequest } from "../openai/encode-request.ts";
import { packDetail } from "../reasoning-details.ts";
import { TranslationError } from "../translation-error.ts";
import { TranslationReport } from "../translation-report.ts";
import { decodeRequest } from "./decode-request.ts";
import { UNSIGNED } from "./thinking-blocks.ts";
import { runs } from "../../../test/support/long-form.ts";

const CACHE = { type: "ephemeral" };

function decode(body: JsonObject) {
  const report = new TranslationReport();
  const request = decodeRequest(body, report);
  return { request, dropped: report.dropped };
}

test("a request as Claude Code sends it is translated", () => {
  const { request, dropped } = decode({
    model: "claude-opus-4-6",
    max_tokens: 32000,
    stream: true,
    system: [
      { type: "text", text: "You are an agent." },
      { type: "text", text: "Be brief.", cache_control: CACHE },
    ],
    messages: [
      { role: "user", content: [{ type: "text", text: "List the files." }] },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "I need ls.", signature: "c2ln" },
          { type: "text", text: "Listing." },
          { type: "tool_use", id: "toolu_1", name: "Bash", input: { command: "ls" } },
        ],
      },
      {
        role: "user",
        content: [
          { type: "text", text: "Go on.", cache_control: CACHE },
          { type: "tool_result", tool_use_id: "toolu_1", content: "No such file", is_error: true },
        ],
      },
    ],
    tools: [
      {
        name: "Bash",
        description: "Runs a command",
        input_schema: { type: "object" },
        eager_input_streaming: true,
      },
    ],
    metadata: { user_id: "user_1" },
    thinking: { type: "adaptive" },
    output_config: { effort: "high" },
    context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
    temperature: 1,
  });
  expect(dropped).toEqual(["context_management"]);
  expect(request).toEqual({
    model: "claude-opus-4-6",
    messages: [
      {
        role: "system",
        content: [
          { type: "text", text: "You are an agent." },
          { type: "text", text: "Be brief.", cache_control: CACHE },
        ],
      },
      { role: "user", content: "List the files." },
      {
        role: "assistant",
        content: "Listing.",
        reasoning_details: [
          { type: "reasoning.text", format: "anthropic", text: "I need ls.", signature: "c2ln" },
        ],
        tool_calls: [
          { id: "toolu_1", type: "function", function: { name: "Bash", arguments: '{"command":"ls"}' } },
        ],
      },
      { role: "tool", tool_call_id: "toolu_1", content: "No such file", is_error: true },
      { role: "user", content: [{ type: "text", text: "Go on.", cache_control: CACHE }] },
    ],
    tools: [
      {
        type: "function",
        function: { name: "Bash", description: "Runs a command", parameters: { type: "object" } },
      },
    ],
    max_tokens: 32000,
    temperature: 1,
    stream: true,
    thinking: { type: "adaptive" },
    reasoning_effort: "high",
    user: "user_1",
  });
});

test("reasoning of other formats returns from the blocks that the gateway wrote", () => {
  const detail = { type: "reasoning.encrypted", format: "responses", data: "x", id: "rs_1" } as const;
  const content = [
    { type: "thinking", thinking: "Plain text", signature: UNSIGNED },
    { type: "redacted_thinking", data: packDetail(detail) },
    { type: "redacted_thinking", data: "gw1.e30" },
    { type: "text", text: "Hi" },
  ];
  const { request } = decode({ max_tokens: 9, messages: [{ role: "assistant", content }] });
  expect(request.messages).toEqual([
    {
      role: "assistant",
      content: "Hi",
      reasoning_content: "Plain text",
      reasoning_details: [detail, { type: "reasoning.encrypted", format: "anthropic", data: "gw1.e30" }],
    },
  ]);
});

describe("what only Anthropic provides is rejected with its field", () => {
  test.each([
    ["mcp_servers", { mcp_servers: [{ type: "url", url: "https://example.com", name: "x" }] }],
    ["container", { container: "c_1" }],
    ["inference_geo", { inference_geo: "us" }],
    ["tools[0].type", { tools: [{ type: "web_search_20250305", name: "web_search" }] }],
    [
      "messages[0].content[0].source",
      {
        messages: [
          { role: "user", content: [{ type: "image", source: { type: "file", file_id: "file_1" } }] },
        ],
      },
    ],
    ["messages[0].content[0]", { messages: [{ role: "user", content: [{ type: "new_block" }] }] }],
    ["messages[0].role", { messages: [{ role: "tool", content: "x" }] }],
    ["messages", { messages: "x" }],
    ["output_config.format.type", { output_config: { format: { type: "grammar" } } }],
  ])("%s", (path, fields) => {
    const attempt = () => decode({ max_tokens: 9, messages: [{ role: "user", content: "Hi" }], ...fields });
    expect(attempt).toThrow(TranslationError);
    expect(attempt).toThrow(expect.objectContaining({ path }));
  });
});

test("any JSON either translates to a chat request or throws a TranslationError with a path", () => {
  const block = fc.record(
    {
      type: fc.constantFrom(
        "text",
        "image",
        "document",
        "search_result",
        "tool_use",
        "tool_result",
        "thinking",
        "redacted_thinking",
        "compaction",
        "server_tool_use",
        "tool_reference",
        "x",
      ),
      text: fc.oneof(fc.string(), fc.jsonValue()),
      source: fc.oneof(
        fc.record({
          type: fc.constantFrom("base64", "url", "text", "content", "file"),
          data: fc.string(),
          media_type: fc.constantFrom("image/png", "application/pdf", "text/plain"),
          url: fc.oneof(
            fc.constantFrom("https://example.com/a.png?b#c", "data:image/png;base64,AA=="),
            fc.string(),
          ),
          content: fc.jsonValue(),
        }),
        fc.jsonValue(),
      ),
      id: fc.string(),
      name: fc.string({ maxLength: 100 }),
      input: fc.jsonValue(),
      tool_use_id: fc.string(),
      content: fc.jsonValue(),
      thinking: fc.string(),
      signature: fc.oneof(fc.string(), fc.constant(UNSIGNED)),
      data: fc.string().map((data) => `gw1.${data}`),
      cache_control: fc.jsonValue(),
      is_error: fc.jsonValue(),
    },
    { requiredKeys: ["type"] },
  );
  const message = fc.record({
    role: fc.constantFrom("user", "assistant", "system", "x"),
    content: fc.oneof(fc.string(), fc.array(block), fc.jsonValue()),
  });
  const fields = [
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "metadata",
    "output_config",
    "stop_sequences",
  ];
  const body = fc.tuple(
    fc.oneof({ weight: 9, arbitrary: fc.array(message) }, { weight: 1, arbitrary: fc.jsonValue() }),
    fc.dictionary(fc.constantFrom(...fields, "max_tokens", "top_k", "stream", "x"), fc.jsonValue()),
    fc.constantFrom("gpt-4o", "gpt-5", "o3", "deepseek-chat"),
  );
  fc.assert(
    fc.property(body, ([messages, rest, model]) => {
      const report = new TranslationReport();
      try {
        const request = decodeRequest({ ...rest, messages, model }, report);
        expect(Array.isArray(encodeChatRequest(request, { report })["messages"])).toBe(true);
      } catch (error) {
        if (!(error instanceof TranslationError)) throw error;
        expect(error.path).not.toBe("");
      }
    }),
    { numRuns: runs({ short: 40, long: 150 }) },
  );
});

test("fields of metadata and output_config without an equivalent are reported", () => {
  const { request, dropped } = decode({
    messages: [],
    metadata: { user_id: "u", team: "search" },
    output_config: { effort: "low", task_budget: { total: 9 } },
  });
  expect(request).toEqual({ messages: [], reasoning_effort: "low", user: "u" });
  expect(dropped).toEqual(["metadata.team", "output_config.task_budget"]);
});
