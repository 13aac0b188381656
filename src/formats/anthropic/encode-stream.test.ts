// Anthropic's SDK reads translated responses, streams and errors.
import { describe, expect, test } from "bun:test";
import Anthropic from "@anthropic-ai/sdk";
import type { ReasoningDetail } from "../chat-extensions.ts";
import type { ChatCompletion, ChatCompletionChunk, ChatDelta, ChatUsage } from "../openai/wire-types.ts";
import { unpackDetail } from "../reasoning-details.ts";
import { TranslationReport } from "../translation-report.ts";
import { NO_CONTEXT } from "../translator.ts";
import { anthropicInbound } from "./inbound.ts";
import { UNSIGNED } from "./thinking-blocks.ts";

const USAGE: ChatUsage = {
  prompt_tokens: 100,
  completion_tokens: 20,
  total_tokens: 120,
  prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 10 },
  completion_tokens_details: { reasoning_tokens: 5 },
};
const USAGE_OF_MESSAGE = {
  input_tokens: 30,
  cache_read_input_tokens: 60,
  cache_creation_input_tokens: 10,
  output_tokens: 20,
};
const REQUEST = { model: "m", max_tokens: 9, messages: [{ role: "user" as const, content: "Hi" }] };
const FOREIGN: ReasoningDetail = {
  type: "reasoning.encrypted",
  format: "responses",
  data: "secret",
  id: "rs_1",
};

function chunk(
  delta: ChatDelta,
  finish_reason: "stop" | "tool_calls" | "length" | null = null,
): ChatCompletionChunk {
  return {
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "gpt-5",
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
  };
}

function clientFor(response: Response): Anthropic {
  return new Anthropic({ apiKey: "none", maxRetries: 0, fetch: () => Promise.resolve(response) });
}

function encodeStream(chunks: ChatCompletionChunk[]): string {
  const encoder = anthropicInbound.encodeStream(NO_CONTEXT);
  for (const each of chunks) encoder.chunk(each);
  encoder.done();
  return encoder.take();
}

/** Returns the message that Anthropic's SDK reads from the stream. */
async function readStream(chunks: ChatCompletionChunk[]): Promise<Anthropic.Message> {
  const headers = { "content-type": "text/event-stream" };
  const client = clientFor(new Response(encodeStream(chunks), { headers }));
  return await client.messages.stream(REQUEST).finalMessage();
}

describe("a stream", () => {
  test("has reasoning, text, tool calls and usage", async () => {
    const message = await readStream([
      chunk({ role: "assistant", content: "" }),
      chunk({ reasoning_content: "Let me " }),
      chunk({ reasoning_content: "think." }),
      chunk({ content: "I will " }),
      chunk({ content: "look." }),
      chunk({
        tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "f", arguments: "" } }],
      }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: '{"a"' } }] }),
      chunk({
        tool_calls: [
          { index: 1, id: "call_2", type: "function", function: { name: "g", arguments: '{"b"' } },
        ],
      }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: ":1}" } }] }),
      chunk({ tool_calls: [{ index: 1, function: { arguments: ":2}" } }] }),
      chunk({}, "tool_calls"),
      { ...chunk({}), choices: [], usage: USAGE },
    ]);
    expect(message).toMatchObject({
      id: "chatcmpl-1",
      model: "gpt-5",
      role: "assistant",
      stop_reason: "tool_use",
      content: [
        { type: "thinking", thinking: "Let me think.", signature: UNSIGNED },
        { type: "text", text: "I will look." },
        { type: "tool_use", id: "call_1", name: "f", input: { a: 1 } },
        { type: "tool_use", id: "call_2", name: "g", input: { b: 2 } },
      ],
      usage: USAGE_OF_MESSAGE,
    });
  });

  test("has the signature of each thinking block, and details of other formats as redacted thinking", async () => {
    const signed = (text: string, signature: string): ReasoningDetail => ({
      type: "reasoning.text",
      format: "anthropic",
      text,
      signature,
    });
    const message = await readStream([
      chunk({ reasoning_content: "One" }),
      chunk({ reasoning_details: [signed("One", "sig1")] }),
      chunk({ reasoning_content: "Two" }),
      chunk({ reasoning_details: [signed("Two", "sig2"), signed("", "sig3")] }),
      chunk({
        reasoning_details: [{ type: "reasoning.encrypted", format: "anthropic", data: "E" }, FOREIGN],
      }),
      chunk({ content: "Hi" }, "stop"),
    ]);
    expect(message.content).toMatchObject([
      { type: "thinking", thinking: "One", signature: "sig1" },
      { type: "thinking", thinking: "Two", signature: "sig2" },
      { type: "thinking", thinking: "", signature: "sig3" },
      { type: "redacted_thinking", data: "E" },
      { type: "redacted_thinking" },
      { type: "text", text: "Hi" },
    ]);
    const packed = message.content[4];
    expect(packed?.type === "redacted_thinking" && unpackDetail(packed.data)).toEqual(FOREIGN);
  });

  test("has packed details after the thinking if it ends there, and none after a text", async () => {
    const details = chunk({ reasoning_details: [FOREIGN] });
    const unfinished = await readStream([chunk({ reasoning_content: "Hm" }), details, chunk({}, "length")]);
    expect(unfinished.content).toMatchObject([
      { type: "thinking", thinking: "Hm" },
      { type: "redacted_thinking" },
    ]);
    const answered = await readStream([chunk({ content: "Hi" }), details, chunk({}, "stop")]);
    expect(answered.content).toMatchObject([{ type: "text", text: "Hi" }]);
  });

  test("starts blocks with increasing indices and stops each before the next", () => {
    const events = encodeStream([
      chunk({ reasoning_content: "a" }),
      chunk({ content: "b" }),
      chunk({ reasoning_content: "c" }),
      chunk({ content: "d" }, "length"),
    ]).matchAll(/"type":"(message_\w+|content_block_st\w+|ping)"(?:,"index":(\d))?/g);
    expect(Array.from(events, ([, type, index]) => `${type} ${index ?? ""}`.trim())).toEqual([
      "message_start",
      "ping",
      ...[0, 1, 2, 3].flatMap((index) => [`content_block_start ${index}`, `content_block_stop ${index}`]),
      "message_delta",
      "message_stop",
    ]);
  });

  test("that is not complete has no last event", () => {
    const encoder = anthropicInbound.encodeStream(NO_CONTEXT);
    encoder.chunk(chunk({ content: "Hi" }, "stop"));
    const text = encoder.take();
    expect(text).toContain("text_delta");
    expect(text).not.toContain("message_delta");
    expect(text).not.toContain("message_stop");
  });

  test("ends with an error event that the SDK throws", async () => {
    const encoder = anthropicInbound.encodeStream(NO_CONTEXT);
    encoder.chunk(chunk({ content: "Hi" }));
    encoder.error({ error: { message: "Busy", type: "server_error", param: null, code: "overloaded" } });
    const headers = { "content-type": "text/event-stream" };
    const client = clientFor(new Response(encoder.take(), { headers }));
    const error = await client.messages
      .stream(REQUEST)
      .finalMessage()
      .catch((cause: unknown) => cause);
    expect(error).toMatchObject({ error: { error: { type: "overloaded_error", message: "Busy" } } });
  });
});

describe("a whole response", () => {
  const completion = (
    message: Partial<ChatCompletion["choices"][0]["message"]>,
    finish_reason: ChatCompletion["choices"][0]["finish_reason"] = "stop",
  ): ChatCompletion => ({
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model: "gpt-5",
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: null, refusal: null, ...message },
        logprobs: null,
        finish_reason,
      },
    ],
    usage: USAGE,
  });
  const read = async (body: ChatCompletion) =>
    await clientFor(Response.json(anthropicInbound.encodeResponse(body, NO_CONTEXT))).messages.create(
      REQUEST,
    );

  test("has reasoning, text, tool calls and usage", async () => {
    const call = (id: string, text: string) => ({
      id,
      type: "function" as const,
      function: { name: "f", arguments: text },
    });
    const message = await read(
      completion({
        content: "Hi",
        reasoning_content: "Hm",
        reasoning_details: [FOREIGN],
        tool_calls: [call("c1", '{"a":1}'), call("c2", ""), call("c3", '{"cut')],
      }),
    );
    expect(message).toMatchObject({
      type: "message",
      // Although the chat response says "stop".
      stop_reason: "tool_use",
      content: [
        { type: "thinking", thinking: "Hm", signature: UNSIGNED },
        { type: "redacted_thinking" },
        { type: "text", text: "Hi" },
        { type: "tool_use", id: "c1", name: "f", input: { a: 1 } },
        { type: "tool_use", id: "c2", name: "f", input: {} },
        { type: "tool_use", id: "c3", name: "f", input: { raw_arguments: '{"cut' } },
      ],
      usage: USAGE_OF_MESSAGE,
    });
  });

  test.each([
    ["stop", "end_turn"],
    ["length", "max_tokens"],
    ["content_filter", "refusal"],
  ] as const)("that finishes with %s stops with %s", async (finish, stop) => {
    expect((await read(completion({ content: "Hi" }, finish))).stop_reason).toBe(stop);
  });

  test("with a refusal has its text", async () => {
    expect(await read(completion({ refusal: "I cannot." }))).toMatchObject({
      stop_reason: "refusal",
      stop_details: { type: "refusal", explanation: "I cannot." },
      content: [{ type: "text", text: "I cannot." }],
    });
  });
});

test("tools with names that are too long for other formats keep them", () => {
  const long = `mcp__${"x".repeat(80)}__search`;
  const tools = [{ name: long, input_schema: { type: "object" } }];
  const request = {
    ...REQUEST,
    tools,
    tool_choice: { type: "tool", name: long },
    messages: [
      { role: "assistant", content: [{ type: "tool_use", id: "t", name: long, input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "x" }] },
    ],
  };
  const decoded = JSON.stringify(anthropicInbound.decodeRequest(request, new TranslationReport()));
  const names = Array.from(decoded.matchAll(/"name":"([^"]+)"/g), ([, name = ""]) => name);
  expect(names).toHaveLength(3);
  expect(new Set(names).size).toBe(1);
  const [name = ""] = names;
  expect(name).toMatch(/^[\w-]{64}$/);
  const context = anthropicInbound.contextOf(request);
  const encoder = anthropicInbound.encodeStream(context);
  const call = { id: "c", type: "function" as const, function: { name, arguments: "{}" } };
  encoder.chunk(chunk({ tool_calls: [{ index: 0, ...call }] }));
  expect(encoder.take()).toContain(`"name":"${long}"`);
  const completion: ChatCompletion = {
    id: "1",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: null, refusal: null, tool_calls: [call] },
        logprobs: null,
        finish_reason: "tool_calls",
      },
    ],
    usage: USAGE,
  };
  expect(anthropicInbound.encodeResponse(completion, context)).toMatchObject({ content: [{ name: long }] });
});

test("calls without an end are not kept without a limit", () => {
  const encoder = anthropicInbound.encodeStream(anthropicInbound.contextOf(REQUEST));
  const call = (index: number, text: string) =>
    encoder.chunk(
      chunk({ tool_calls: [{ index, id: "c", type: "function", function: { name: "f", arguments: text } }] }),
    );
  call(0, "{");
  const megabyte = "x".repeat(1 << 20);
  expect(() => {
    for (let received = 0; received < 40; received++) call(1, megabyte);
  }).toThrow("more than 33554432 characters");
});

describe("an error", () => {
  const read = async (message: string, code: string | null, status: number): Promise<unknown> => {
    const body = anthropicInbound.encodeError(
      { error: { message, type: "invalid_request_error", param: null, code } },
      status,
      "req_1",
    );
    return await clientFor(Response.json(body, { status }))
      .messages.create(REQUEST)
      .catch((cause: unknown) => cause);
  };

  test("of a prompt that is too long has the message that clients recognize", async () => {
    const error = await read(
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 130123 tokens.",
      "context_length_exceeded",
      400,
    );
    expect(error).toBeInstanceOf(Anthropic.BadRequestError);
    expect(error).toMatchObject({
      error: {
        type: "error",
        error: {
          type: "invalid_request_error",
          message: "prompt is too long: 130123 tokens > 128000 maximum",
        },
        request_id: "req_1",
      },
    });
    expect(await read("Input exceeds the context window.", "context_length_exceeded", 400)).toMatchObject({
      error: { error: { message: "prompt is too long: Input exceeds the context window." } },
    });
  });

  test.each([
    [400, null, "invalid_request_error"],
    [401, "invalid_api_key", "authentication_error"],
    [404, "model_not_found", "not_found_error"],
    [429, "rate_limit_exceeded", "rate_limit_error"],
    [429, "insufficient_quota", "billing_error"],
    [500, null, "api_error"],
    [503, null, "overloaded_error"],
  ])("with the status %d and the code %p has the type %s", async (status, code, type) => {
    expect(await read("No", code, status)).toMatchObject({
      status,
      error: { error: { type, message: "No" } },
    });
  });
});

test("a refusal after text is no part of the text, in streams and in whole messages", async () => {
  const message = await readStream([
    chunk({ role: "assistant", content: "" }),
    chunk({ content: "Part" }),
    chunk({ refusal: "I can" }),
    chunk({ refusal: "not." }, "stop"),
  ]);
  expect(message).toMatchObject({
    content: [{ type: "text", text: "Part" }],
    stop_reason: "refusal",
    stop_details: { explanation: "I cannot." },
  });
  const alone = await readStream([chunk({ refusal: "I can" }), chunk({ refusal: "not." }, "stop")]);
  expect(alone.content).toMatchObject([{ type: "text", text: "I cannot." }]);
});
