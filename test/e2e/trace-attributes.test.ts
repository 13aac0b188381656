// The GenAI attributes of spans: what the request asked for, and what the response says, whatever its format and encoding.
import { afterAll, describe, expect, test } from "bun:test";
import type { Behavior } from "../../src/fake-provider/behavior.ts";
import type { Attributes } from "../support/otlp-reader.ts";
import { startOtlpReceiver } from "../support/otlp-receiver.ts";
import { postChat, STREAMED_CHAT } from "../support/plugin-fixtures.ts";
import { CHAT, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";
import { waitFor } from "../support/waiting.ts";

const receiver = startOtlpReceiver();
const [gatehouse, provider] = await Promise.all([
  useGatehouse({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_BSP_SCHEDULE_DELAY: "50" } }),
  useFakeProvider(),
]);
afterAll(() => receiver.stop());

const openai = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
const anthropicTarget = { targets: [targetAt(provider, { provider: "anthropic" })] };
const anthropic = await seedRoute(gatehouse, { upstream: anthropicTarget });
const translated = await seedRoute(gatehouse, {
  upstream: anthropicTarget,
  rule: { response_format: "openai" },
});
const responses = await seedRoute(gatehouse, {
  upstream: { targets: [targetAt(provider, { path: "/v1/responses" })] },
  rule: { path: "/v1/responses" },
});

/** Returns the attributes of the attempt that served the chat. */
async function attributesOf(
  route: typeof openai,
  behavior: Behavior,
  body: unknown = CHAT,
): Promise<Attributes> {
  provider.behave(behavior);
  const id = crypto.randomUUID();
  await (await postChat(gatehouse, route, { body, headers: { "X-Request-Id": id } })).text();
  const own = await waitFor(
    () => receiver.spans().find((span) => span.attributes["gatehouse.request_id"] === id) ?? null,
  );
  const attempt = await waitFor(
    () => receiver.spans().find((span) => span.parentSpanId === own.spanId) ?? null,
  );
  expect(receiver.problems).toEqual([]);
  return attempt.attributes;
}

const usage = {
  prompt_tokens: 100,
  completion_tokens: 7,
  total_tokens: 107,
  prompt_tokens_details: { cached_tokens: 64 },
  completion_tokens_details: { reasoning_tokens: 5 },
};
const choice = (index: number, finish_reason: string | null, text = "x") => ({
  index,
  message: { role: "assistant", content: text },
  finish_reason,
});
const completion = {
  id: "chatcmpl-1",
  object: "chat.completion",
  model: "gpt-fake",
  choices: [choice(1, "length"), choice(0, "stop", '"finish_reason":"content_filter"')],
  usage,
};
const OPENAI = {
  "gen_ai.response.id": "chatcmpl-1",
  "gen_ai.response.finish_reasons": ["stop", "length"],
  "gen_ai.usage.input_tokens": 100,
  "gen_ai.usage.output_tokens": 7,
  "gen_ai.usage.cache_read.input_tokens": 64,
  "gen_ai.usage.reasoning.output_tokens": 5,
};
const JSON_TYPE: Behavior["headers"] = [["Content-Type", "application/json"]];
const SSE_TYPE: Behavior["headers"] = [["Content-Type", "text/event-stream"]];

const sse = (...events: readonly object[]) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`);
const frame = { id: "chatcmpl-1", object: "chat.completion.chunk", model: "gpt-fake" };
const delta = (index: number, finish_reason: string | null, content?: string) => ({
  ...frame,
  choices: [{ index, delta: { content }, finish_reason }],
});
const openaiStream = [
  // Azure's first event has no id.
  ...sse({ ...frame, id: "", choices: [] }, delta(0, null, '"finish_reason":"content_filter"')),
  ...sse(delta(1, "length"), delta(0, "stop"), { ...frame, choices: [], usage }),
  "data: [DONE]\n\n",
];

const message = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude",
  content: [{ type: "text", text: "x" }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 30, cache_read_input_tokens: 64, cache_creation_input_tokens: 6, output_tokens: 7 },
};
const ANTHROPIC = {
  "gen_ai.response.id": "msg_1",
  "gen_ai.response.finish_reasons": ["end_turn"],
  "gen_ai.usage.input_tokens": 100,
  "gen_ai.usage.output_tokens": 7,
  "gen_ai.usage.cache_read.input_tokens": 64,
  "gen_ai.usage.cache_creation.input_tokens": 6,
};
const anthropicStream = [
  ...sse(
    {
      type: "message_start",
      message: { ...message, content: [], stop_reason: null, usage: { ...message.usage, output_tokens: 1 } },
    },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: '"stop_reason":"x"' } },
    { type: "content_block_stop", index: 0 },
    {
      type: "message_delta",
      delta: { stop_reason: "end_turn", stop_sequence: null },
      usage: { output_tokens: 7 },
    },
    { type: "message_stop" },
  ),
];

/** Cuts a stream where no event ends. */
const pieces = (stream: readonly string[], size: number) =>
  stream.join("").match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];

describe("a whole response", () => {
  const body = JSON.stringify(completion);
  test.each<[string, Behavior]>([
    ["at once", { headers: JSON_TYPE, body }],
    ["in chunks without a length", { headers: JSON_TYPE, body: pieces([body], 50) }],
    ["compressed", { headers: JSON_TYPE, body, gzip: true }],
  ])("of OpenAI, %s: id, finish reasons in the order of choices, cached tokens", async (_, behavior) => {
    expect(await attributesOf(openai, behavior)).toMatchObject(OPENAI);
  });

  test("of Anthropic, relayed and translated: the values of the provider", async () => {
    const behavior = { headers: JSON_TYPE, body: JSON.stringify(message) };
    const native = { ...CHAT, max_tokens: 50 };
    expect(await attributesOf(anthropic, behavior, native)).toMatchObject(ANTHROPIC);
    expect(await attributesOf(translated, behavior)).toMatchObject(ANTHROPIC);
  });

  test("of OpenAI's Responses API: why it is incomplete", async () => {
    const behavior = {
      headers: JSON_TYPE,
      body: JSON.stringify({
        id: "resp_1",
        object: "response",
        status: "incomplete",
        incomplete_details: { reason: "max_output_tokens" },
        usage: {
          input_tokens: 9,
          output_tokens: 16,
          total_tokens: 17,
          input_tokens_details: { cached_tokens: 4 },
        },
      }),
    };
    const body = { model: "gpt-fake", input: "hi", max_output_tokens: 16, temperature: 0 };
    expect(await attributesOf(responses, behavior, body)).toMatchObject({
      "gen_ai.request.max_tokens": 16,
      "gen_ai.request.temperature": 0,
      "gen_ai.response.id": "resp_1",
      "gen_ai.response.finish_reasons": ["max_output_tokens"],
      "gen_ai.usage.cache_read.input_tokens": 4,
    });
  });

  test("without these fields, or with fields of other types: no attributes, and the response is relayed", async () => {
    const odd = { id: 5, choices: [{ finish_reason: {} }, null], usage: { prompt_tokens_details: [] } };
    for (const body of [JSON.stringify(odd), "{}", "{", "[]"]) {
      const attributes = await attributesOf(openai, { headers: JSON_TYPE, body });
      expect(attributes["http.response.status_code"]).toBe(200);
      for (const name of ["response.id", "response.finish_reasons", "usage.cache_read.input_tokens"])
        expect(attributes).not.toHaveProperty(`gen_ai.${name}`);
    }
  });
});

describe("a stream", () => {
  test.each<[string, Behavior]>([
    ["event by event", { headers: SSE_TYPE, body: openaiStream }],
    ["cut inside events", { headers: SSE_TYPE, body: pieces(openaiStream, 37) }],
    ["compressed", { headers: SSE_TYPE, body: openaiStream.join(""), gzip: true }],
  ])("of OpenAI, %s: id, finish reasons, cached tokens", async (_, behavior) => {
    expect(await attributesOf(openai, behavior, STREAMED_CHAT)).toMatchObject(OPENAI);
  });

  test("of Anthropic, relayed and translated: the values of the provider", async () => {
    const behavior = { headers: SSE_TYPE, body: pieces(anthropicStream, 53) };
    const native = { ...STREAMED_CHAT, max_tokens: 50 };
    expect(await attributesOf(anthropic, behavior, native)).toMatchObject(ANTHROPIC);
    expect(await attributesOf(translated, behavior, STREAMED_CHAT)).toMatchObject(ANTHROPIC);
  });

  test("that is cut has what arrived", async () => {
    const behavior = { headers: SSE_TYPE, body: openaiStream.slice(0, 3), cutAfterChunks: 3 };
    provider.behave(behavior);
    const headers = { "X-Request-Id": "cut-stream" };
    await (await postChat(gatehouse, openai, { body: STREAMED_CHAT, headers })).text().catch(() => "");
    const own = await waitFor(
      () => receiver.spans().find((span) => span.attributes["gatehouse.request_id"] === "cut-stream") ?? null,
    );
    const attempt = receiver.spans().find((span) => span.parentSpanId === own.spanId);
    expect(attempt?.attributes).toMatchObject({
      "gen_ai.response.id": "chatcmpl-1",
      "gen_ai.response.finish_reasons": ["length"],
      "error.type": "cut",
    });
  });
});

describe("a request", () => {
  test.each([
    [{ max_tokens: 55, temperature: 0.25 }, 55, 0.25],
    [{ max_tokens: 1, max_completion_tokens: 2, temperature: 2 }, 2, 2],
    [{ max_tokens: null, max_completion_tokens: 3 }, 3, undefined],
    [{ max_tokens: "9", temperature: "hot" }, undefined, undefined],
    [{ max_tokens: -1, temperature: [] }, undefined, undefined],
    [{ max_tokens: 1.5 }, undefined, undefined],
    [{ generationConfig: { maxOutputTokens: 6, temperature: 0.5 } }, 6, 0.5],
    [{ generation_config: { max_output_tokens: 5 } }, 5, undefined],
    [{ generationConfig: "x" }, undefined, undefined],
    [{ generationConfig: { maxOutputTokens: "6", temperature: {} } }, undefined, undefined],
    [{}, undefined, undefined],
  ])("%j", async (fields, maxTokens, temperature) => {
    const attributes = await attributesOf(openai, {}, { ...CHAT, ...fields });
    expect(attributes["gen_ai.request.max_tokens"]).toBe(maxTokens);
    expect(attributes["gen_ai.request.temperature"]).toBe(temperature);
  });

  test("with a large body", async () => {
    const messages = [{ role: "user", content: "x".repeat(600_000) }];
    const attributes = await attributesOf(openai, {}, { ...CHAT, messages, max_tokens: 7, temperature: 1.5 });
    expect(attributes).toMatchObject({ "gen_ai.request.max_tokens": 7, "gen_ai.request.temperature": 1.5 });
  });
});
