// Requests for chat targets: what the hub format has in addition to OpenAI's is carried in another way, or dropped and reported.
import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../base/json.ts";
import { TranslationError } from "../translation-error.ts";
import { TranslationReport } from "../translation-report.ts";
import { encodeRequest } from "./encode-request.ts";

const USER = { role: "user", content: "Hi" };
const CACHE = { type: "ephemeral" };
const IMAGE = { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } };

function encode(request: JsonObject): JsonObject {
  const report = new TranslationReport();
  const encoded = encodeRequest({ messages: [USER], ...request }, { report });
  const { dropped, emulatedStop } = report;
  return { ...encoded, dropped, ...(emulatedStop.length > 0 && { emulatedStop }) };
}

function encodeMessages(messages: unknown[], model = "gpt-4o") {
  return encode({ model, messages });
}

test("cache breakpoints are dropped and reported once", () => {
  const encoded = encode({
    messages: [
      {
        role: "system",
        content: [
          { type: "text", text: "One" },
          { type: "text", text: "Two", cache_control: CACHE },
        ],
      },
      { role: "user", content: [{ type: "text", text: "Hi", cache_control: CACHE }] },
    ],
    tools: [{ type: "function", function: { name: "f" }, cache_control: CACHE }],
  });
  expect(encoded).toEqual({
    messages: [{ role: "system", content: "One\n\nTwo" }, USER],
    tools: [{ type: "function", function: { name: "f" } }],
    dropped: ["cache_control"],
  });
});

test("images of tool results follow the results of the turn in the next user message", () => {
  const call = (id: string) => ({ id, type: "function", function: { name: "f", arguments: "{}" } });
  const calls = { role: "assistant", content: null, tool_calls: [call("a"), call("b"), call("c")] };
  const { messages }: JsonObject = encodeMessages([
    USER,
    calls,
    { role: "tool", tool_call_id: "a", content: [{ type: "text", text: "A screenshot" }, IMAGE] },
    { role: "tool", tool_call_id: "b", content: [IMAGE], is_error: true },
    { role: "tool", tool_call_id: "c", content: "Done" },
    USER,
  ]);
  const note = "The content of this result is in the next user message.";
  expect(messages).toEqual([
    USER,
    calls,
    { role: "tool", tool_call_id: "a", content: `A screenshot\n\n${note}` },
    { role: "tool", tool_call_id: "b", content: `Error: ${note}` },
    { role: "tool", tool_call_id: "c", content: "Done" },
    { role: "user", content: [IMAGE, IMAGE, { type: "text", text: "Hi" }] },
  ]);
});

test("a failed tool result says so in its text", () => {
  const result = (content: string) => ({ role: "tool", tool_call_id: "a", content, is_error: true });
  const { messages }: JsonObject = encodeMessages([result("No such file"), result("Error: denied")]);
  expect(messages).toMatchObject([{ content: "Error: No such file" }, { content: "Error: denied" }]);
});

test("text files become text, and documents with a URL are rejected", () => {
  const file = (fields: object) => [{ role: "user", content: [{ type: "file", file: fields }] }];
  const data = `data:text/plain;base64,${Buffer.from("Größe").toString("base64")}`;
  expect(encodeMessages(file({ filename: "a.txt", file_data: data }))["messages"]).toEqual([
    { role: "user", content: "a.txt\n\nGröße" },
  ]);
  const pdf = { filename: "a.pdf", file_data: "data:application/pdf;base64,AA==" };
  expect(encodeMessages(file(pdf))["messages"]).toEqual(file(pdf));
  const attempt = () => encodeMessages(file({ file_url: "https://example.com/a.pdf" }));
  expect(attempt).toThrow(TranslationError);
  expect(attempt).toThrow(expect.objectContaining({ path: "messages[0].content[0].file.file_url" }));
});

test("reasoning goes back only to models that require it, and signed reasoning to none", () => {
  const message = { role: "assistant", content: "Hi" };
  const details = [{ type: "reasoning.text", format: "anthropic", text: "Hm", signature: "s" }];
  const history = [{ ...message, reasoning_content: "Hm" }];
  expect(encodeMessages(history, "deepseek-chat")).toMatchObject({ messages: history, dropped: [] });
  expect(encodeMessages(history, "gpt-5")).toMatchObject({ messages: [message], dropped: ["reasoning"] });
  expect(encodeMessages([{ ...message, reasoning_details: details }], "deepseek-chat")).toMatchObject({
    messages: [message],
    dropped: ["reasoning"],
  });
});

test("long ids are shortened in calls and results alike, and long user ids are hashed", () => {
  const id = "x".repeat(41);
  const call = { id, type: "function", function: { name: "f", arguments: "{}" } };
  const encoded = encode({
    user: "u".repeat(65),
    messages: [
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: id, content: "" },
    ],
  });
  const text = JSON.stringify(encoded);
  expect(text).not.toContain(id);
  const [, shortened] = /"id":"([^"]{40})"/.exec(text) ?? [];
  expect(text).toContain(`"tool_call_id":"${shortened}"`);
  expect(encoded["user"]).toMatch(/^[\w-]{43}$/);
  expect(encode({ user: "u" })["user"]).toBe("u");
});

describe("the model decides", () => {
  test.each([
    ["gpt-4o", "max_tokens"],
    ["llama-3.3-70b", "max_tokens"],
    ["deepseek-chat", "max_tokens"],
    ["gpt-5", "max_completion_tokens"],
    ["gpt-5.2-codex", "max_completion_tokens"],
    ["openai/o4-mini", "max_completion_tokens"],
  ])("%s gets the output limit as %s", (model, field) => {
    expect(encode({ model, max_tokens: 9 })).toEqual({ model, messages: [USER], [field]: 9, dropped: [] });
  });

  test.each([
    ["gpt-4o", "high", undefined, ["reasoning_effort"]],
    ["gpt-4o", "none", undefined, []],
    ["o3", "none", "low", []],
    ["o3", "xhigh", "high", []],
    ["gpt-5", "none", "minimal", []],
    ["gpt-5", "medium", "medium", []],
    ["gpt-5.1", "minimal", "none", []],
    ["gpt-5.1", "xhigh", "high", []],
    ["gpt-5.2", "xhigh", "xhigh", []],
    ["gpt-5-pro", "low", "high", []],
    ["gpt-6", "max", "xhigh", []],
    ["deepseek-chat", "medium", "medium", []],
    ["llama-3.3-70b", "medium", undefined, ["reasoning_effort"]],
  ])("%s gets the effort %s as %p", (model, effort, sent, dropped) => {
    const encoded = encode({ model, reasoning_effort: effort });
    expect(encoded["reasoning_effort"]).toBe(sent);
    expect(encoded["dropped"]).toEqual(dropped);
  });

  test("OpenAI's reasoning models get neither sampling parameters nor stop sequences", () => {
    const fields = { temperature: 0.5, top_p: 1, stop: ["END"] };
    expect(encode({ model: "gpt-4o", ...fields })).toMatchObject({ ...fields, dropped: [] });
    expect(encode({ model: "gpt-5", ...fields })).toEqual({
      model: "gpt-5",
      messages: [USER],
      // top_p: 1 is the default.
      dropped: ["temperature"],
      emulatedStop: ["END"],
    });
    expect(encode({ model: "gpt-5.1", temperature: 0.5 })).toMatchObject({ temperature: 0.5, dropped: [] });
    expect(encode({ model: "gpt-5.1", temperature: 0.5, reasoning_effort: "low" })["dropped"]).toEqual([
      "temperature",
    ]);
  });
});

test("streams report their usage", () => {
  expect(encode({ stream: true })["stream_options"]).toEqual({ include_usage: true });
  expect(encode({ stream: true, stream_options: { include_obfuscation: false } })["stream_options"]).toEqual({
    include_obfuscation: false,
    include_usage: true,
  });
  expect(encode({ stream: false })).not.toHaveProperty("stream_options");
});

test("a schema with optional properties is not strict", () => {
  const format = (required: string[]) => ({
    type: "json_schema",
    json_schema: {
      name: "output",
      strict: true,
      schema: {
        type: "object",
        properties: { a: { type: "string" }, b: { type: "array", items: { type: "number" } } },
        required,
        additionalProperties: false,
      },
    },
  });
  expect(encode({ response_format: format(["a", "b"]) })).toMatchObject({
    response_format: format(["a", "b"]),
    dropped: [],
  });
  expect(encode({ response_format: format(["a"]) })).toMatchObject({
    response_format: { json_schema: { name: "output", strict: false } },
    dropped: ["strict"],
  });
});

test("unknown fields are dropped and reported; the choice of a tool is left out without tools", () => {
  const fields = {
    top_k: 5,
    x_unknown: 1,
    tool_choice: "auto",
    parallel_tool_calls: false,
    seed: 1,
    tools: [],
  };
  expect(encode(fields)).toEqual({ messages: [USER], seed: 1, dropped: ["top_k", "x_unknown"] });
});

test("a tool_choice that requires a call is refused if there are no tools; others have no effect", () => {
  expect(() => encode({ tool_choice: "required" })).toThrow("the request has no tools");
  const named = { type: "function", function: { name: "f" } };
  expect(() => encode({ tools: [], tool_choice: named })).toThrow(TranslationError);
  expect(encode({ tool_choice: "auto" })).toEqual({ messages: [USER], dropped: [] });
});
