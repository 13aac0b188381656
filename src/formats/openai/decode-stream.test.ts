// Responses and streams of chat targets, with the differences between OpenAI and compatible servers.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { anthropicInbound } from "../anthropic/inbound.ts";
import { NO_CONTEXT, type ChatStreamSink } from "../translator.ts";
import { decodeError, decodeResponse } from "./decode-response.ts";
import { ChatStreamDecoder } from "./decode-stream.ts";
import type { ChatCompletionChunk, ChatErrorBody } from "./wire-types.ts";
import { runs } from "../../../test/support/long-form.ts";

const OPTIONS = { createdAt: 1, targetTag: "t" };

/** Collects what a decoder passes on. */
class Recorder implements ChatStreamSink {
  readonly chunks: ChatCompletionChunk[] = [];
  failure: ChatErrorBody | null = null;
  isDone = false;

  chunk(chunk: ChatCompletionChunk): void {
    this.chunks.push(chunk);
  }

  error(body: ChatErrorBody): void {
    this.failure = body;
  }

  done(): void {
    this.isDone = true;
  }
}

function decodeStream(events: (object | string)[]): { recorder: Recorder; ending: string } {
  const recorder = new Recorder();
  const decoder = new ChatStreamDecoder(OPTIONS, recorder);
  for (const event of events) {
    const data = typeof event === "string" ? event : JSON.stringify(event);
    decoder.push(Buffer.from(`data: ${data}\n\n`));
  }
  return { recorder, ending: decoder.ending() };
}

const delta = (fields: object, rest: object = {}) => ({
  id: "chatcmpl-1",
  created: 5,
  model: "m",
  choices: [{ index: 0, delta: fields, finish_reason: null, ...rest }],
});

function deltasOf(events: (object | string)[]) {
  return decodeStream(events).recorder.chunks.map(({ choices }) => choices[0]?.delta);
}

describe("a stream", () => {
  test.each([
    ["reasoning_content", { reasoning_content: "Hm" }],
    ["reasoning", { reasoning: "Hm", reasoning_details: [{ type: "reasoning.text", text: "Hm", index: 0 }] }],
    ["thinking parts", { content: [{ type: "thinking", thinking: [{ type: "text", text: "Hm" }] }] }],
  ])("has its reasoning in %s", (_, fields) => {
    expect(deltasOf([delta(fields)])).toMatchObject([{ reasoning_content: "Hm" }]);
  });

  test("has calls without indices and ids", () => {
    const call = (name: string, id?: string) => ({
      ...(id === undefined ? {} : { id }),
      type: "function",
      function: { name, arguments: { a: 1 } },
    });
    expect(deltasOf([delta({ tool_calls: [call("f", "x"), call("g", "y")] })])).toMatchObject([
      {
        tool_calls: [
          { index: 0, id: "x", function: { name: "f", arguments: '{"a":1}' } },
          { index: 1, id: "y", function: { name: "g" } },
        ],
      },
    ]);
    expect(deltasOf([delta({ tool_calls: [{ index: 0, ...call("f") }] })])).toMatchObject([
      { tool_calls: [{ index: 0, id: "call_chatcmpl-1_0" }] },
    ]);
  });

  test("has a legacy function call", () => {
    const events = [
      delta({ function_call: { name: "f", arguments: "" } }),
      delta({ function_call: { arguments: "{}" } }),
      delta({}, { finish_reason: "function_call" }),
    ];
    const { recorder } = decodeStream(events);
    expect(recorder.chunks.map(({ choices }) => choices[0])).toMatchObject([
      { delta: { tool_calls: [{ index: 0, id: "call_chatcmpl-1_0", function: { name: "f" } }] } },
      { delta: { tool_calls: [{ index: 0, function: { arguments: "{}" } }] } },
      { finish_reason: "tool_calls" },
    ]);
  });

  test("reports usage once, at its end, wherever the provider puts it", () => {
    const usage = (count: number) => ({
      prompt_tokens: 3,
      completion_tokens: count,
      total_tokens: 3 + count,
    });
    const { recorder, ending } = decodeStream([
      { ...delta({ content: "a" }), usage: usage(1) },
      { ...delta({ content: "b" }, { finish_reason: "stop" }), usage: usage(2) },
      "[DONE]",
    ]);
    expect(ending).toBe("complete");
    expect(recorder.isDone).toBe(true);
    expect(recorder.chunks.map(({ usage: reported }) => reported?.completion_tokens)).toEqual([
      undefined,
      undefined,
      2,
    ]);
    expect(recorder.chunks.at(-1)?.choices).toEqual([]);
  });

  test("with an error in a chunk ends with it", () => {
    const { recorder, ending } = decodeStream([
      delta({ content: "a" }),
      { ...delta({}, { finish_reason: "error" }), error: { code: 502, message: "Provider disconnected" } },
      "[DONE]",
    ]);
    expect(ending).toBe("error");
    expect(recorder.isDone).toBe(false);
    expect(recorder.failure).toMatchObject({ error: { message: "Provider disconnected", code: "502" } });
  });

  test("that ends after its finish reason is not complete", () => {
    const { recorder, ending } = decodeStream([delta({ content: "a" }, { finish_reason: "stop" })]);
    expect(ending).toBe("truncated");
    expect(recorder.isDone).toBe(false);
  });
});

test("events and responses of any shape are translated without an error", () => {
  const any = fc.jsonValue({ maxDepth: 2 });
  const call = fc.record(
    {
      index: fc.oneof(fc.nat(3), any),
      id: any,
      function: fc.oneof(fc.record({ name: any, arguments: any }), any),
    },
    { requiredKeys: [] },
  );
  const message = fc.record(
    {
      role: any,
      content: any,
      refusal: any,
      reasoning: any,
      tool_calls: fc.oneof(fc.array(call), any),
      function_call: any,
    },
    { requiredKeys: [] },
  );
  const choice = fc.record({ delta: message, message, finish_reason: any }, { requiredKeys: [] });
  const event = fc.record(
    { id: any, model: any, created: any, choices: fc.oneof(fc.array(choice), any), usage: any },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.array(event), (events) => {
      const encoder = anthropicInbound.encodeStream(NO_CONTEXT);
      const decoder = new ChatStreamDecoder(OPTIONS, encoder);
      for (const each of [...events.map((value) => JSON.stringify(value)), "[DONE]"])
        decoder.push(Buffer.from(`data: ${each}\n\n`));
      expect(encoder.take()).toEndWith('data: {"type":"message_stop"}\n\n');
      for (const each of events) {
        const completion = decodeResponse(each, OPTIONS);
        if (completion !== null) anthropicInbound.encodeResponse(completion, NO_CONTEXT);
        decodeError(each, 400);
      }
    }),
    { numRuns: runs({ short: 40, long: 150 }) },
  );
});

describe("a whole response", () => {
  const decode = (message: object, rest: object = {}) =>
    decodeResponse({ id: "1", model: "m", choices: [{ message, finish_reason: "stop" }], ...rest }, OPTIONS);

  test("has reasoning, refusal, and legacy function calls", () => {
    const message = { content: null, reasoning: "Hm", function_call: { name: "f", arguments: "{}" } };
    expect(decode(message)?.choices[0].message).toEqual({
      role: "assistant",
      content: null,
      refusal: null,
      reasoning_content: "Hm",
      tool_calls: [{ id: "call_1_0", type: "function", function: { name: "f", arguments: "{}" } }],
    });
    expect(decode({ content: null, refusal: "No." })?.choices[0].message.refusal).toBe("No.");
  });

  test("has usage with cached and reasoning tokens, also where the total alone includes the reasoning", () => {
    const usage = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 20, prompt_cache_hit_tokens: 4 };
    expect(decode({ content: "Hi" }, { usage })?.usage).toEqual({
      prompt_tokens: 9,
      completion_tokens: 11,
      total_tokens: 20,
      prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 8 },
    });
    expect(decode({ content: "Hi" })?.usage).toMatchObject({ prompt_tokens: 0, completion_tokens: 0 });
  });

  test("without a choice is none", () => {
    expect(decodeResponse({ choices: [] }, OPTIONS)).toBeNull();
    expect(decodeResponse({ object: "list" }, OPTIONS)).toBeNull();
  });
});

describe("an error", () => {
  test.each([
    ["of OpenAI", { error: { message: "No", type: "t", code: "c", param: "p" } }],
    ["at the top level", { object: "error", message: "No", type: "t", code: "c", param: "p" }],
  ])("%s is read", (_, body) => {
    expect(decodeError(body, 400)).toEqual({ error: { message: "No", type: "t", code: "c", param: "p" } });
  });

  test.each([
    ["text", { error: "No" }, "No"],
    ["detail", { detail: "No" }, "No"],
    ["validation errors", { detail: [{ msg: "No" }] }, '[{"msg":"No"}]'],
    ["unreadable", "<html>", "The provider responded with status 400 and an unreadable error."],
  ])("%s", (_, body, message) => {
    expect(decodeError(body, 400)).toEqual({
      error: { message, type: "invalid_request_error", param: null, code: null },
    });
  });

  test("without a readable body has the type of its status", () => {
    expect(decodeError(null, 429).error.type).toBe("rate_limit_error");
    expect(decodeError("<html>", 502).error.type).toBe("server_error");
  });

  test.each([
    "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
    "Your input exceeds the context window of this model.",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "the request exceeds the available context size, try increasing it",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "prompt is too long: 210000 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 190000 + 21333 > 204698",
    "Input is too long for requested model.",
  ])("%s has the code of the context length", (message) => {
    expect(decodeError({ error: { message, type: "x", code: 400 } }, 400).error.code).toBe(
      "context_length_exceeded",
    );
  });

  test("of a rate limit that mentions the context keeps its code", () => {
    const error = {
      message: "Too many tokens in the context window per minute.",
      code: "rate_limit_exceeded",
    };
    expect(decodeError({ error }, 429).error.code).toBe("rate_limit_exceeded");
  });
});

test.each(["error", "abort"])("the finish reason %s never is a clean end", (finish_reason) => {
  const message = `finish reason "${finish_reason}"`;
  const { recorder, ending } = decodeStream([
    delta({ content: "a" }),
    delta({}, { finish_reason }),
    "[DONE]",
  ]);
  expect([ending, recorder.isDone]).toEqual(["error", false]);
  expect(recorder.failure?.error.message).toContain(message);
  const choices = [{ message: { content: "a" }, finish_reason }];
  expect(() => decodeResponse({ choices }, OPTIONS)).toThrow(message);
});

test.each(["content_filter: RECITATION", "function_call_filter: MALFORMED_FUNCTION_CALL"])(
  "the finish reason %s of Gemini's chat endpoint is that of a content filter",
  (finish_reason) => {
    const choices = [{ message: { content: "a" }, finish_reason }];
    expect(decodeResponse({ choices }, OPTIONS)?.choices[0].finish_reason).toBe("content_filter");
  },
);

test("calls of custom tools become calls of functions with one field", () => {
  const input = 'echo "hi"\n🚀';
  const custom = { id: "c1", type: "custom", custom: { name: "sh", input } };
  const choices = [{ message: { content: null, tool_calls: [custom] }, finish_reason: "tool_calls" }];
  const called = decodeResponse({ choices }, OPTIONS)?.choices[0].message.tool_calls?.[0]?.function;
  expect(called).toEqual({ name: "sh", arguments: JSON.stringify({ input }) });
  const pieces = Array.from(input).map((piece) =>
    delta({ tool_calls: [{ index: 0, custom: { input: piece } }] }),
  );
  const start = delta({ tool_calls: [{ ...custom, index: 0, custom: { name: "sh", input: "" } }] });
  const { recorder, ending } = decodeStream([
    start,
    ...pieces,
    delta({}, { finish_reason: "tool_calls" }),
    "[DONE]",
  ]);
  const deltas = recorder.chunks.flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? []);
  expect(deltas[0]).toMatchObject({ id: "c1", function: { name: "sh" } });
  const json = deltas.map((each) => each.function.arguments).join("");
  expect([ending, JSON.parse(json)]).toEqual(["complete", { input }]);
});
