// What the golden files do not cover: OpenAI's SDK reads the translated stream, and invalid streams fail.
import { describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { formatSse, SseTooLargeError } from "../sse.ts";
import { decodeError, decodeResponse } from "./decode-response.ts";
import { openaiInbound } from "../openai/inbound.ts";
import { StreamTranslation } from "../stream-translation.ts";
import { TranslationError } from "../translation-error.ts";
import { NO_CONTEXT } from "../translator.ts";
import { ANTHROPIC } from "./anthropic-format.ts";

const encoded = (event: { data: string }) => new TextEncoder().encode(formatSse(event));

const START = {
  type: "message_start",
  message: {
    id: "msg_1",
    type: "message",
    model: "claude-sonnet-5",
    usage: { input_tokens: 3, output_tokens: 1 },
  },
};
const STOP = [
  { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 9 } },
  { type: "message_stop" },
];

function translation(maxEventBytes?: number): StreamTranslation {
  const limit = maxEventBytes === undefined ? {} : { maxEventBytes };
  return new StreamTranslation(
    ANTHROPIC.outbound,
    openaiInbound,
    { createdAt: 1, targetTag: "t", ...limit },
    { ...NO_CONTEXT, includeUsage: true },
  );
}

/** Returns a client that receives these events, translated. */
function clientReceiving(events: object[]): OpenAI {
  const decoder = translation();
  const chunks = events.map((event) => decoder.push(encoded({ data: JSON.stringify(event) })));
  const body = Buffer.concat(chunks.filter((chunk) => chunk !== null));
  return clientFor(new Response(body, { headers: { "content-type": "text/event-stream" } }));
}

function clientFor(response: Response): OpenAI {
  return new OpenAI({ apiKey: "none", maxRetries: 0, fetch: () => Promise.resolve(response) });
}

const REQUEST = { model: "m", messages: [{ role: "user" as const, content: "Hi" }] };

describe("OpenAI's SDK", () => {
  test("collects text, tool calls, and usage of a stream", async () => {
    const client = clientReceiving([
      START,
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Let me " } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "look." } },
      { type: "content_block_stop", index: 0 },
      {
        type: "content_block_start",
        index: 1,
        content_block: { type: "tool_use", id: "t1", name: "f", input: {} },
      },
      { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: '{"a"' } },
      { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: ":1}" } },
      { type: "content_block_stop", index: 1 },
      {
        type: "content_block_start",
        index: 2,
        content_block: { type: "tool_use", id: "t2", name: "g", input: {} },
      },
      { type: "content_block_stop", index: 2 },
      ...STOP,
    ]);
    const completion = await client.chat.completions.stream(REQUEST).finalChatCompletion();
    expect(completion.choices[0]?.message.content).toBe("Let me look.");
    expect(completion.choices[0]?.finish_reason).toBe("tool_calls");
    const calls = completion.choices[0]?.message.tool_calls?.map(
      (call) => call.type === "function" && call.function,
    );
    expect(calls).toMatchObject([
      { name: "f", arguments: '{"a":1}' },
      { name: "g", arguments: "{}" },
    ]);
    expect(completion.usage).toMatchObject({ prompt_tokens: 3, completion_tokens: 9, total_tokens: 12 });
  });

  test("throws on an error inside the stream", async () => {
    const client = clientReceiving([
      START,
      { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
    ]);
    const read = async () => {
      for await (const chunk of await client.chat.completions.create({ ...REQUEST, stream: true })) {
        expect(chunk.choices[0]?.finish_reason).toBeNull();
      }
    };
    expect(await read().catch((error: unknown) => error)).toMatchObject({
      code: "overloaded",
      error: { message: "Overloaded" },
    });
  });

  test("has the same type for a whole response and recognizes an error by its code", async () => {
    const completion: OpenAI.ChatCompletion | null = decodeResponse(
      { ...START.message, type: "message", content: [{ type: "text", text: "Hi" }], stop_reason: "end_turn" },
      { createdAt: 1, targetTag: "t" },
    );
    expect(completion?.choices[0]?.message.content).toBe("Hi");
    const body = decodeError(
      { type: "error", error: { type: "rate_limit_error", message: "slow down" } },
      429,
    );
    const client = clientFor(Response.json(body, { status: 429 }));
    const error = await client.chat.completions.create(REQUEST).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(OpenAI.RateLimitError);
    expect(error).toMatchObject({ code: "rate_limit_exceeded", type: "rate_limit_error" });
  });
});

describe("an invalid stream", () => {
  test.each([
    ["not JSON", "{"],
    ["not an object", "[1]"],
    ["no type", "{}"],
    ["the wrong format", "[DONE]"],
  ])("%s is rejected", (_, data) => {
    const decoder = translation();
    expect(() => decoder.push(encoded({ data }))).toThrow(TranslationError);
    expect(decoder.ending()).toBe("truncated");
  });

  test("an event larger than the limit is rejected", () => {
    const decoder = translation(50);
    expect(() => decoder.push(encoded({ data: JSON.stringify(START) }))).toThrow(SseTooLargeError);
  });
});
