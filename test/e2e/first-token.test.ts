// Time to first token and time per output token: measured on a clock that the test advances while a provider streams.
import { afterAll, describe, expect, test } from "bun:test";
import { constants, createGzip } from "node:zlib";
import type { ApiResponse } from "../support/gatehouse-process.ts";
import { startGatehouseInProcess } from "../support/gatehouse-in-process.ts";
import { startOtlpReceiver } from "../support/otlp-receiver.ts";
import {
  logged,
  pluginsDirectory,
  postChat,
  SCRIPTED_PLUGINS,
  scripted,
  scriptedWhole,
  STREAMED_CHAT,
} from "../support/plugin-fixtures.ts";
import { readMetrics } from "../support/prometheus-text.ts";
import { CHAT, seedRoute, type SeededRoute } from "../support/proxy-fixtures.ts";
import { startRawProvider, type ProviderConnection } from "../support/raw-provider.ts";
import { waitFor } from "../support/waiting.ts";

/** When the parts of a stream are sent, in milliseconds since the request. */
const HEADERS_AT = 30;
const CONTENT_AT = 100;
const END_AT = 160;

const receiver = startOtlpReceiver();
const gatehouse = await startGatehouseInProcess({
  env: {
    PLUGINS_DIR: pluginsDirectory(SCRIPTED_PLUGINS),
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_BSP_SCHEDULE_DELAY: "50",
  },
});
const { clock } = gatehouse;
const provider = startRawProvider();
let arrived = Promise.withResolvers<ProviderConnection>();
await provider.behave(async (connection) => {
  for (;;) {
    await connection.request();
    arrived.resolve(connection);
    arrived = Promise.withResolvers<ProviderConnection>();
  }
});
afterAll(async () => {
  await gatehouse.stop();
  provider.stop();
  await receiver.stop();
});

const sse = (...events: readonly (object | string)[]) =>
  events.map((event) => `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`).join("");

const delta = (fields: object) => ({
  object: "chat.completion.chunk",
  choices: [{ index: 0, delta: fields }],
});
const ROLE = delta({ role: "assistant", content: "", refusal: null });
const usage = (output: number, reasoning = 0) => ({
  choices: [],
  usage: {
    prompt_tokens: 1,
    completion_tokens: output,
    total_tokens: 1 + output,
    completion_tokens_details: { reasoning_tokens: reasoning },
  },
});
const CHAT_END = sse(delta({}), usage(5), "[DONE]");

const MESSAGE_START = {
  type: "message_start",
  message: { id: "m", role: "assistant", content: [], usage: { input_tokens: 3, output_tokens: 1 } },
};
const PING = { type: "ping" };
const block = (index: number, content_block: object) => ({
  type: "content_block_start",
  index,
  content_block,
});
const blockDelta = (index: number, fields: object) => ({ type: "content_block_delta", index, delta: fields });
const TEXT_BLOCK = block(0, { type: "text", text: "" });
const MESSAGE_END = sse(
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 5 } },
  { type: "message_stop" },
);

interface Parts {
  /** Events without content. */
  readonly before: string;
  readonly content: string;
  readonly end: string;
}

const TEXT: Parts = { before: sse(ROLE), content: sse(delta({ content: "Hi" })), end: CHAT_END };

function seed(
  target: object = {},
  rule: Record<string, unknown> = {},
  required_plugins: readonly Record<string, unknown>[] = [],
): Promise<SeededRoute> {
  const targets = [{ provider: "raw", format: "openai", base_url: provider.url, ...target }];
  return seedRoute(gatehouse, {
    gateway: { required_plugins },
    // The headers arrive before the first content.
    upstream: { targets, max_attempts: 1, commit: { max_ms: 0 } },
    rule: { name: "chat", ...rule },
  });
}

interface Wire {
  readonly headers?: string;
  readonly encode?: (text: string, isEnd: boolean) => Promise<Uint8Array>;
  readonly body?: object;
  /** Ends the connection instead of the body. */
  readonly isCut?: boolean;
}

const encodePlain = (text: string) => Promise.resolve(Buffer.from(text));

/** Streams the parts at their times and resolves to the record of the request. */
async function stream(
  route: SeededRoute,
  { before, content, end }: Parts,
  { headers = "", encode = encodePlain, body = STREAMED_CHAT, isCut = false }: Wire = {},
): Promise<ApiResponse["body"]> {
  const requested = arrived.promise;
  const accepted = { "Accept-Encoding": headers === "" ? "identity" : "gzip" };
  const responding = postChat(gatehouse, route, { body, headers: accepted });
  const connection = await requested;
  const send = async (text: string, isEnd = false) => {
    const bytes = await encode(text, isEnd);
    await connection.write(
      Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]),
    );
  };
  clock.advance(HEADERS_AT);
  await connection.write(
    `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n${headers}Transfer-Encoding: chunked\r\n\r\n`,
  );
  await send(before);
  const reader = (await responding).body?.getReader();
  await reader?.read();
  clock.advance(CONTENT_AT - HEADERS_AT);
  await send(content);
  await reader?.read();
  clock.advance(END_AT - CONTENT_AT);
  if (!isCut) await send(end, true);
  if (isCut) connection.reset();
  else await connection.write("0\r\n\r\n");
  const drain = async () => {
    while ((await reader?.read())?.done === false);
  };
  await drain().catch(() => undefined);
  return recordOf(route);
}

async function recordOf({ gateway }: SeededRoute): Promise<ApiResponse["body"]> {
  return waitFor(async () => {
    const { body } = await gatehouse.api("GET", `/gateways/${gateway}/requests`);
    return body.requests[0] ?? null;
  });
}

/** Five output tokens: four of them after the first. */
const TIMES = {
  first_byte_ms: HEADERS_AT,
  first_token_ms: CONTENT_AT,
  ms_per_output_token: (END_AT - CONTENT_AT) / 4,
  total_ms: END_AT,
};

describe("the first token is the first event with content", () => {
  const toolCall = (fields: object) => delta({ tool_calls: [{ index: 0, function: fields }] });
  const openai: Record<string, Parts> = {
    text: TEXT,
    reasoning: { ...TEXT, content: sse(delta({ content: null, reasoning_content: "Hm" })) },
    "the arguments of a tool call": {
      before: sse(ROLE, toolCall({ name: "f", arguments: "" })),
      content: sse(toolCall({ arguments: "{}" })),
      end: CHAT_END,
    },
    "text of the Responses API": {
      before: sse(
        { type: "response.created", response: { metadata: { delta: "x", text: "y" }, output: [] } },
        { type: "response.output_item.added", item: { type: "message", content: [] } },
      ),
      content: sse({ type: "response.output_text.delta", delta: "Hi" }),
      end: sse({
        type: "response.completed",
        response: { usage: { input_tokens: 1, output_tokens: 5, total_tokens: 6 } },
      }),
    },
  };
  test.each(Object.entries(openai))("openai: %s", async (_, parts) => {
    const record = await stream(await seed(), parts);
    expect(record).toMatchObject({ stream: true, tokens: { output: 5 }, timings: TIMES });
  });

  const anthropic: Record<string, Parts> = {
    text: {
      before: sse(MESSAGE_START, TEXT_BLOCK, PING),
      content: sse(blockDelta(0, { type: "text_delta", text: "Hi" })),
      end: MESSAGE_END,
    },
    thinking: {
      before: sse(MESSAGE_START, block(0, { type: "thinking", thinking: "", signature: "" })),
      content: sse(blockDelta(0, { type: "thinking_delta", thinking: "Hm" })),
      end: MESSAGE_END,
    },
    "the input of a tool": {
      before: sse(
        MESSAGE_START,
        block(0, { type: "tool_use", id: "t", name: "f", input: {} }),
        blockDelta(0, { type: "input_json_delta", partial_json: "" }),
      ),
      content: sse(blockDelta(0, { type: "input_json_delta", partial_json: "{}" })),
      end: MESSAGE_END,
    },
  };
  test.each(Object.entries(anthropic))("anthropic: %s", async (_, parts) => {
    const record = await stream(await seed({ format: "anthropic" }), parts);
    expect(record).toMatchObject({ stream: true, tokens: { output: 5 }, timings: TIMES });
  });

  test("translated: the signature of thinking without text does not count", async () => {
    const record = await stream(await seed({ format: "anthropic" }, { response_format: "openai" }), {
      before: sse(
        MESSAGE_START,
        block(0, { type: "thinking", thinking: "" }),
        blockDelta(0, { type: "signature_delta", signature: "c2ln" }),
        { type: "content_block_stop", index: 0 },
      ),
      content: sse(block(1, { type: "text", text: "" }), blockDelta(1, { type: "text_delta", text: "Hi" })),
      end: MESSAGE_END,
    });
    expect(record).toMatchObject({ stream: true, tokens: { output: 5 }, timings: TIMES });
  });

  test("content that a plugin removes does not count", async () => {
    const plugin = scripted("pre_response", `context.replaceChunk(context.text.replaceAll('"Ah"', '""'))`);
    const before = sse(ROLE, delta({ content: "Ah" }));
    const record = await stream(await seed({}, {}, [plugin]), { ...TEXT, before });
    expect(record).toMatchObject({ stream: true, tokens: { output: 5 }, timings: TIMES });
  });

  test.each([
    ["with its bytes unchanged", true],
    ["without the usage event, which the client did not request", false],
  ])("of a stream that is relayed compressed, %s", async (_, include_usage) => {
    const gzip = createGzip();
    let encoded: Buffer[] = [];
    gzip.on("data", (bytes: Buffer) => encoded.push(bytes));
    const encode = async (text: string, isEnd: boolean) => {
      await new Promise<void>((resolve) => {
        gzip.write(text);
        if (isEnd) gzip.once("end", resolve).end();
        else gzip.flush(constants.Z_SYNC_FLUSH, resolve);
      });
      const bytes = Buffer.concat(encoded);
      encoded = [];
      return bytes;
    };
    const body = { ...STREAMED_CHAT, stream_options: { include_usage } };
    const wire = { headers: "Content-Encoding: gzip\r\n", encode, body };
    expect(await stream(await seed(), TEXT, wire)).toMatchObject({ tokens: { output: 5 }, timings: TIMES });
  });
});

describe("the time per output token", () => {
  test.each([
    ["does not count reasoning that is not relayed", TEXT.content, usage(105, 100)],
    ["counts reasoning that is relayed", sse(delta({ reasoning_content: "Hm" })), usage(5, 3)],
    [
      "counts reasoning that arrives together with text",
      sse(delta({ reasoning_content: "Hm" }), delta({ content: "Hi" })),
      usage(5, 3),
    ],
  ])("openai: %s", async (_, content, reported) => {
    const { timings } = await stream(await seed(), { ...TEXT, content, end: sse(reported, "[DONE]") });
    expect(timings).toMatchObject(TIMES);
  });

  const messageEnd = (output: number, thinking: number) =>
    MESSAGE_END.replace(
      '{"output_tokens":5}',
      JSON.stringify({ output_tokens: output, output_tokens_details: { thinking_tokens: thinking } }),
    );
  const text = blockDelta(0, { type: "text_delta", text: "Hi" });
  const thinking = blockDelta(0, { type: "thinking_delta", thinking: "Hm" });
  test.each([
    ["does not count thinking that is not relayed", text, messageEnd(105, 100)],
    ["counts thinking that is relayed", thinking, messageEnd(5, 3)],
  ])("anthropic: %s", async (_, content, end) => {
    const parts = { before: sse(MESSAGE_START, PING), content: sse(content), end };
    expect((await stream(await seed({ format: "anthropic" }), parts)).timings).toMatchObject(TIMES);
  });

  test("Responses API: does not count reasoning that is not relayed", async () => {
    const { timings } = await stream(await seed(), {
      before: sse({ type: "response.created", response: { output: [] } }),
      content: sse({ type: "response.output_text.delta", delta: "Hi" }),
      end: sse({
        type: "response.completed",
        response: {
          usage: { input_tokens: 1, output_tokens: 105, output_tokens_details: { reasoning_tokens: 100 } },
        },
      }),
    });
    expect(timings).toMatchObject(TIMES);
  });
});

describe("what is unknown is null", () => {
  const whole = `${JSON.stringify({
    choices: [{ text: "Hi" }],
    usage: { prompt_tokens: 1, completion_tokens: 5, total_tokens: 6 },
  })}\n`;
  const chunk = `${whole.length.toString(16)}\r\n${whole}\r\n`;
  test.each([
    ["with a length", `Content-Length: ${whole.length}\r\n\r\n${whole}`, ""],
    ["in chunks", `Transfer-Encoding: chunked\r\n\r\n${chunk}`, "0\r\n\r\n"],
  ])("both times of a whole response %s", async (_, framed, lastChunk) => {
    const route = await seed();
    const requested = arrived.promise;
    const responding = postChat(gatehouse, route, { body: CHAT });
    const connection = await requested;
    await connection.write(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n${framed}`);
    const response = await responding;
    await connection.write(lastChunk);
    expect(await response.text()).toBe(whole);
    const { timings, tokens } = await recordOf(route);
    expect(tokens.output).toBe(5);
    expect(timings).toMatchObject({ first_token_ms: null, ms_per_output_token: null });
  });

  test("both times of a stream that a plugin needs as a whole", async () => {
    const route = await seed({}, {}, [scriptedWhole("pre_response", "")]);
    const requested = arrived.promise;
    const responding = postChat(gatehouse, route, { body: STREAMED_CHAT });
    const connection = await requested;
    const events = TEXT.before + TEXT.content + TEXT.end;
    await connection.write(
      `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: ${events.length}\r\n\r\n${events}`,
    );
    expect(await (await responding).text()).toContain("Hi");
    const { timings, tokens } = await recordOf(route);
    expect(tokens.output).toBe(5);
    expect(timings).toMatchObject({ first_token_ms: null, ms_per_output_token: null });
  });

  test("both times of a stream without content", async () => {
    const { timings } = await stream(await seed(), { ...TEXT, content: sse(delta({ content: "" })) });
    expect(timings).toMatchObject({ first_token_ms: null, ms_per_output_token: null });
  });

  test.each([
    ["one output token", sse(delta({}), usage(1), "[DONE]")],
    ["no reported usage", sse(delta({}), "[DONE]")],
  ])("the time per token of a stream with %s", async (_, end) => {
    const { timings } = await stream(await seed(), { ...TEXT, end });
    expect(timings).toMatchObject({ first_token_ms: CONTENT_AT, ms_per_output_token: null });
  });

  test("the time per token of a stream that was cut, whose number of tokens is uncertain", async () => {
    const record = await stream(
      await seed(),
      { ...TEXT, content: sse({ ...delta({ content: "Hi" }), usage: usage(5).usage }) },
      { isCut: true },
    );
    expect(record).toMatchObject({ outcome: "incomplete", tokens: { output: 5, partial: true } });
    expect(record.timings).toMatchObject({ first_token_ms: CONTENT_AT, ms_per_output_token: null });
  });
});

test("the access log has the time to the first token of a stream", async () => {
  const record = await stream(await seed(), TEXT);
  const line = await logged(gatehouse, "request", { request_id: record.request_id });
  expect(line).toMatchObject({ ms: END_AT, first_byte_ms: HEADERS_AT, first_token_ms: CONTENT_AT });
});

test("/metrics has histograms of both times, where they are known", async () => {
  const route = await seed();
  await stream(route, TEXT);
  await stream(route, { ...TEXT, end: sse(delta({}), usage(1), "[DONE]") });
  const { body } = await gatehouse.api("GET", `/gateways/${route.gateway}`);
  const page = readMetrics(await (await fetch(`${gatehouse.adminUrl}/metrics`)).text());
  const labels = { gateway: body.name, rule: "chat", provider: "raw", model: CHAT.model };
  expect(page.value("gatehouse_time_to_first_token_seconds_count", labels)).toBe(2);
  expect(page.value("gatehouse_time_to_first_token_seconds_sum", labels)).toBeCloseTo(
    (2 * CONTENT_AT) / 1000,
  );
  expect(page.value("gatehouse_time_per_output_token_seconds_count", labels)).toBe(1);
  expect(page.value("gatehouse_time_per_output_token_seconds_sum", labels)).toBeCloseTo(
    TIMES.ms_per_output_token / 1000,
  );
});

test("the span of the request has both times, and that of the attempt the time to its first chunk", async () => {
  const { request_id } = await stream(await seed(), TEXT);
  const own = await waitFor(
    () =>
      receiver.spans().find(({ attributes }) => attributes["gatehouse.request_id"] === request_id) ?? null,
  );
  const attempt = receiver.spans().find(({ parentSpanId }) => parentSpanId === own.spanId);
  expect(own.attributes).toMatchObject({
    "gatehouse.time_to_first_token": CONTENT_AT / 1000,
    "gatehouse.time_per_output_token": TIMES.ms_per_output_token / 1000,
  });
  expect(attempt?.attributes).toMatchObject({ "gen_ai.response.time_to_first_chunk": CONTENT_AT / 1000 });
});
