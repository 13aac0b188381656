import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { JsonObject } from "../base/json.ts";
import { estimateRequestTokens, estimateTokens } from "./token-estimate.ts";

const TEXT =
  "Please summarize the following conversation in at most five sentences, and list every decision.";
const TEXT_TOKENS = estimateTokens(TEXT);
const BASE64 = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ".repeat(5000);
const SCHEMA = {
  type: "object",
  properties: { location: { type: "string", description: TEXT }, days: { type: "integer" } },
  required: ["location"],
};

/** The tokens that a value adds to a request without it. */
function added(body: JsonObject, base: JsonObject = {}): number {
  return estimateRequestTokens(body) - estimateRequestTokens(base);
}

test("an estimate is a whole number, and that of an empty request a small one", () => {
  expect(estimateTokens("")).toBe(0);
  expect(estimateTokens("a")).toBe(2);
  expect(Number.isInteger(TEXT_TOKENS)).toBe(true);
  expect(estimateRequestTokens({})).toBe(3);
});

describe("texts count in every format", () => {
  test.each<[string, JsonObject, number]>([
    ["chat", { messages: [{ role: "user", content: TEXT }] }, 1],
    ["chat with parts", { messages: [{ role: "user", content: [{ type: "text", text: TEXT }] }] }, 1],
    [
      "chat with a tool's call and result",
      {
        messages: [
          { role: "assistant", tool_calls: [{ id: "call_1", function: { name: "", arguments: TEXT } }] },
          { role: "tool", tool_call_id: "call_1", content: TEXT },
        ],
      },
      2,
    ],
    [
      "messages",
      { system: [{ type: "text", text: TEXT, cache_control: { type: "ephemeral" } }], messages: [] },
      1,
    ],
    [
      "messages with a tool's call and result",
      {
        system: TEXT,
        messages: [
          { role: "assistant", content: [{ type: "tool_use", id: "t", name: "", input: { q: TEXT } }] },
          {
            role: "user",
            content: [{ type: "tool_result", tool_use_id: "t", content: [{ type: "text", text: TEXT }] }],
          },
        ],
      },
      3,
    ],
    [
      "messages with a text document",
      {
        messages: [
          {
            role: "user",
            content: [
              { type: "document", source: { type: "text", media_type: "text/plain", data: TEXT } },
              { type: "document", source: { type: "content", content: [{ type: "text", text: TEXT }] } },
            ],
          },
        ],
      },
      2,
    ],
    ["responses", { instructions: TEXT, input: TEXT }, 2],
    [
      "responses with items",
      {
        input: [
          { role: "user", content: [{ type: "input_text", text: TEXT }] },
          { type: "function_call", call_id: "c", name: "", arguments: TEXT },
          { type: "function_call_output", call_id: "c", output: TEXT },
        ],
      },
      3,
    ],
    [
      "Gemini",
      {
        systemInstruction: { parts: [{ text: TEXT }] },
        contents: [
          { role: "user", parts: [{ text: TEXT }] },
          { role: "model", parts: [{ functionCall: { name: "", args: { q: TEXT } } }] },
          { role: "user", parts: [{ functionResponse: { name: "", response: { result: TEXT } } }] },
        ],
      },
      4,
    ],
    ["completions", { prompt: [TEXT, TEXT] }, 2],
    ["embeddings", { input: [TEXT, TEXT] }, 2],
  ])("%s", (_, body, texts) => {
    expect(added(body)).toBeGreaterThanOrEqual(texts * (TEXT_TOKENS - 1));
    expect(added(body)).toBeLessThanOrEqual(texts * (TEXT_TOKENS + 6));
  });

  test("tools and schemas of the output, with the names of their fields", () => {
    const asText = estimateTokens(JSON.stringify(SCHEMA));
    for (const body of [
      { tools: [{ type: "function", function: { name: "get_weather", parameters: SCHEMA } }] },
      { tools: [{ type: "function", name: "get_weather", parameters: SCHEMA }] },
      { tools: [{ functionDeclarations: [{ name: "get_weather", parameters: SCHEMA }] }] },
      { response_format: { type: "json_schema", json_schema: { name: "weather", schema: SCHEMA } } },
      { text: { format: { type: "json_schema", name: "weather", schema: SCHEMA } } },
      { generationConfig: { responseSchema: SCHEMA } },
    ]) {
      expect(added(body)).toBeGreaterThan(0.8 * asText);
      expect(added(body)).toBeLessThan(1.2 * asText + 25);
    }
  });

  test("tools of Anthropic's format add its instructions once", () => {
    const tool = { name: "get_weather", input_schema: SCHEMA };
    const one = added({ tools: [tool] });
    expect(one).toBeGreaterThan(340);
    expect(added({ tools: [tool, tool] }) - one).toBeLessThan(340);
  });

  test("token ids count one each", () => {
    expect(added({ input: [1, 2, 3] })).toBe(3);
    expect(added({ prompt: [[1, 2], [3]] })).toBe(3);
  });

  test("settings do not count", () => {
    expect(added({ model: TEXT, metadata: { note: TEXT }, temperature: 1, stop: [TEXT], user: TEXT })).toBe(
      0,
    );
  });
});

describe("binary content counts a constant, whatever its size", () => {
  const url = `data:image/png;base64,${BASE64}`;
  test.each<[string, JsonObject, number]>([
    ["chat image", { type: "image_url", image_url: { url } }, 800],
    ["chat image with low detail", { type: "image_url", image_url: { url, detail: "low" } }, 85],
    ["chat audio", { type: "input_audio", input_audio: { data: BASE64, format: "wav" } }, 600],
    ["chat file", { type: "file", file: { file_data: BASE64 } }, 3000],
    [
      "messages image",
      { type: "image", source: { type: "base64", media_type: "image/png", data: BASE64 } },
      800,
    ],
    [
      "messages document",
      { type: "document", source: { type: "base64", media_type: "application/pdf", data: BASE64 } },
      3000,
    ],
    [
      "image of a tool's result",
      { type: "tool_result", content: [{ type: "image", source: { type: "base64", data: BASE64 } }] },
      800,
    ],
    ["responses image", { type: "input_image", image_url: url, detail: "auto" }, 800],
    ["responses image with low detail", { type: "input_image", image_url: url, detail: "low" }, 85],
    ["responses file", { type: "input_file", file_data: BASE64 }, 3000],
    ["responses screenshot", { output: { type: "computer_screenshot", image_url: url } }, 800],
    ["responses image call", { type: "image_generation_call", id: "ig_1", result: BASE64 }, 800],
    ["Gemini image", { inlineData: { mimeType: "image/png", data: BASE64 } }, 800],
    ["Gemini audio", { inline_data: { mime_type: "audio/wav", data: BASE64 } }, 600],
    ["Gemini file", { fileData: { mimeType: "application/pdf", fileUri: "gs://bucket/file.pdf" } }, 3000],
  ])("%s", (_, part, tokens) => {
    const base = { messages: [{ role: "user", content: [] }] };
    expect(added({ messages: [{ role: "user", content: [part] }] }, base)).toBe(tokens);
  });

  test("text and encrypted reasoning in base64 count by their size", () => {
    const base = { messages: [{}] };
    const expected = Math.ceil((BASE64.length * 3) / 16);
    for (const part of [
      { inlineData: { mimeType: "text/csv", data: BASE64 } },
      { type: "redacted_thinking", data: BASE64 },
      { type: "reasoning", encrypted_content: BASE64 },
    ])
      expect(added({ messages: [part] }, base)).toBe(expected);
  });

  test("a data URL as the text of a message counts as text", () => {
    const body = { messages: [{ role: "user", content: `data:image/png;base64,${TEXT}` }] };
    expect(added(body)).toBeGreaterThan(TEXT_TOKENS);
  });
});

describe("hostile requests", () => {
  test("any JSON object has a finite number of tokens", () => {
    const names = fc.constantFrom(
      "messages",
      "input",
      "tools",
      "system",
      "contents",
      "text",
      "generationConfig",
    );
    fc.assert(
      fc.property(fc.dictionary(names, fc.jsonValue({ maxDepth: 6 })), (body) => {
        const tokens = estimateRequestTokens(body);
        expect(Number.isSafeInteger(tokens)).toBe(true);
        expect(tokens).toBeGreaterThanOrEqual(3);
      }),
      { numRuns: 300 },
    );
  });

  test("parts with fields of wrong types are read without errors", () => {
    const values = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constant(null));
    const names = fc.constantFrom(
      ...[
        "type",
        "source",
        "image_url",
        "inlineData",
        "data",
        "input",
        "content",
        "detail",
        "result",
        "args",
      ],
    );
    fc.assert(
      fc.property(fc.array(fc.dictionary(names, values)), (messages) => {
        expect(Number.isSafeInteger(estimateRequestTokens({ messages }))).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  test("deep nesting needs no call stack", () => {
    const depth = 200_000;
    let part: JsonObject = { text: TEXT };
    let list: unknown = TEXT;
    for (let level = 0; level < depth; level++) {
      part = { content: part };
      list = [list];
    }
    expect(added({ messages: [part] })).toBeGreaterThanOrEqual(TEXT_TOKENS);
    expect(added({ input: list })).toBeGreaterThanOrEqual(TEXT_TOKENS - 1);
    expect(added({ tools: [part] })).toBeGreaterThanOrEqual(depth);
  });

  test.each([
    ["messages", { role: "user", content: [{ type: "image", source: { type: "text", data: "a" } }] }],
    ["input", { type: "reasoning", encrypted_content: "a", summary: [{ text: "a" }] }],
    ["contents", { parts: [{ inlineData: { mimeType: "text/csv", data: "a" } }, { args: { a: [1, 2] } }] }],
    ["tools", { name: "a", input_schema: { a: { a: { a: ["a", 1, null, true] } } } }],
  ])("the work is proportional to the size: %s", (name, item) => {
    const readsOf = (count: number): number => {
      let reads = 0;
      const body = counted(
        { [name]: Array.from({ length: count }, () => structuredClone(item)) },
        () => reads++,
      );
      estimateRequestTokens(body);
      return reads;
    };
    const none = readsOf(0);
    expect(readsOf(2000) - none).toBeLessThanOrEqual(2 * (readsOf(1000) - none));
  });
});

/** Returns the object such that every access to it, and to the objects in it, is counted. */
function counted<T extends object>(value: T, count: () => void): T {
  return new Proxy(value, {
    get(target, key, receiver): unknown {
      count();
      const field: unknown = Reflect.get(target, key, receiver);
      return typeof field === "object" && field !== null ? counted(field, count) : field;
    },
  });
}

test("requests for embeddings of Gemini count their texts", () => {
  const content = { parts: [{ text: "The committee decides tomorrow." }] };
  const one = estimateRequestTokens({ content });
  expect(one).toBeGreaterThan(estimateRequestTokens({}));
  expect(estimateRequestTokens({ requests: [{ content }, { content }] })).toBeGreaterThan(one);
});
