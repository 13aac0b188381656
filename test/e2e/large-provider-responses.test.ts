// Large and deeply nested responses of providers, eight at a time: no turn of the event loop takes long, whether the response is relayed,
// translated, or read by plugins, and what is too deep or has too many values is an error of the provider.
import { afterAll, describe, expect, test } from "bun:test";
import { measureTurns } from "../support/event-loop-meter.ts";
import { startGatehouseInProcess } from "../support/gatehouse-in-process.ts";
import { seedRoute } from "../support/proxy-fixtures.ts";
import { isLong } from "../support/long-form.ts";
import { usePeerThread } from "../support/peer-thread.ts";

/** Numbers and sizes matter for the duration of a turn only, which the default run does not assert. */
const AT_ONCE = isLong ? 8 : 1;
const SIZE = isLong ? 1 : 0.1;
/**
 * In CPU time. Parsing one of these messages on the event loop took 469 ms to 4 s. Asserted in the long form only: beside other tests, a collection of the
 * garbage that they left takes as long.
 */
const LONGEST_TURN_MS = isLong ? 300 : Infinity;

const peers = await usePeerThread();
const gatehouse = await startGatehouseInProcess();
afterAll(() => gatehouse.stop());

/** Work that is not linear takes minutes for as many. */
const COUNT = isLong ? 16_000 : 100;
const listed = (item: string, count = COUNT) => Array.from({ length: count }, () => item).join(",");
const CHOICE = `{"index":0,"text":"a","logprobs":{"tokens":["b"]},"finish_reason":"stop"}`;
/** As many copies as fit into this size, or a tenth of it in the default run. */
const filled = (bytes: number, item: string) => item.repeat(Math.floor((bytes * SIZE) / item.length));
const dense = (bytes: number) => `[${filled(bytes, "[],")}[]]`;
/** More values than plugins read. */
const TOO_DENSE = `[${"[],".repeat(isLong ? 3_300_000 : 2_100_000)}[]]`;
const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);

const USAGE = `"usage":{"prompt_tokens":3,"completion_tokens":5,"total_tokens":8}`;
const chatOf = (args: string) =>
  `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[{"id":"t","type":"function","function":{"name":"run","arguments":${JSON.stringify(args)}}}]}}],${USAGE}}`;
const chatWith = (extra: string) =>
  `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hi","extra":${extra}}}],${USAGE}}`;
const messageOf = (input: string) =>
  `{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"t","name":"run","input":{"a":${input}}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":5}}`;
const chatEvent = (extra: string) =>
  `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi","extra":${extra}},"finish_reason":null}]}\n\ndata: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],${USAGE}}\n\ndata: [DONE]\n\n`;
async function routeTo(provider: string, plugins: readonly object[] = []): Promise<string> {
  const { path } = await seedRoute(gatehouse, {
    gateway: { required_plugins: plugins },
    upstream: { targets: [{ provider, base_url: peers.url }], max_attempts: 1 },
  });
  return gatehouse.proxyUrl + path;
}

const MASK = { name: "pii_mask", stage: "pre_request", mode: "enforce", settings: {} };
const relayed = await routeTo("openai");
const translated = await routeTo("anthropic");
const guarded = await routeTo("openai", [MASK]);

async function chat(url: string, fields = "") {
  const body = `{"model":"m","messages":[{"role":"user","content":"Write to ann@example.com."}]${fields}}`;
  const send = () =>
    peers.send({
      url,
      headers: { "Content-Type": "application/json", "x-api-key": "k" },
      body,
      count: AT_ONCE,
    });
  const { value, longestMs } = await measureTurns(send);
  expect(longestMs).toBeLessThan(LONGEST_TURN_MS);
  return value;
}

async function answer(body: string, type = "application/json"): Promise<void> {
  for (const path of ["/v1/chat/completions", "/v1/messages"]) await peers.respondTo(path, body, type);
}

/** Code and threads are loaded with the first requests. */
async function warmUp(): Promise<void> {
  await answer(messageOf(`[${"[],".repeat(133_000)}[]]`));
  for (let round = 0; round < 3; round++)
    for (const url of [relayed, translated, guarded])
      await peers.send({ url, headers: { "Content-Type": "application/json" }, body: "{}", count: AT_ONCE });
}
await warmUp();

describe("whole responses", () => {
  test("many small values are relayed", async () => {
    await answer(chatWith(dense(15_000_000)));
    for (const { status, length } of await chat(relayed))
      expect([status, length > 14_000_000 * SIZE]).toEqual([200, true]);
  });

  test("a body that names the usage again and again is relayed", async () => {
    await answer(chatWith(`[${filled(15_000_000, `{"usage":[1]},`)}1]`));
    for (const { status } of await chat(relayed)) expect(status).toBe(200);
  });

  test("many small values are translated", async () => {
    await answer(messageOf(dense(10_000_000)));
    for (const { status } of await chat(translated)) expect(status).toBe(200);
  });

  test("what is nested too deeply is not translated", async () => {
    await answer(messageOf(nested(100_000)));
    for (const { status, start } of await chat(translated))
      expect([status, start]).toEqual([502, expect.stringContaining("upstream_bad_answer")]);
  });

  test("small values are read by plugins, up to two million", async () => {
    await answer(chatWith(dense(5_000_000)));
    for (const { status } of await chat(guarded)) expect(status).toBe(200);
    await answer(chatWith(TOO_DENSE));
    for (const { status, start } of await chat(guarded))
      expect([status, start]).toEqual([502, expect.stringContaining("more than 2000000 values")]);
  });

  test("arguments of a tool with small values are read by plugins", async () => {
    await answer(chatOf(`{"a":${dense(5_000_000)}}`));
    for (const { status } of await chat(guarded)) expect(status).toBe(200);
  });

  test.each([
    ["choices with probabilities and ends", `{"choices":[${listed(CHOICE)}]}`],
    ["probabilities without tokens", `{"choices":[${listed('{"logprobs":{"a":{}}}')}]}`],
    ["members with unusual names", `{"choices":[],"x":[${listed('{"é":1}')}]}`],
  ])("many %s are read by plugins", async (_, body) => {
    await answer(body);
    for (const { status } of await chat(guarded)) expect(status).toBe(200);
  });

  test("what is nested too deeply for plugins is an error", async () => {
    await answer(chatWith(nested(100_000)));
    for (const { status, start } of await chat(guarded))
      expect([status, start]).toEqual([502, expect.stringContaining("upstream_bad_answer")]);
  });

  test("arguments of a tool that are nested deeply are only text", async () => {
    await answer(chatOf(`{"a":${nested(100_000)}}`));
    for (const { status } of await chat(guarded)) expect(status).toBe(200);
  });
});

describe("streams", () => {
  const STREAM = `,"stream":true`;
  const messageStream = (delta: string) =>
    [
      `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":3,"output_tokens":1}}}`,
      `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
      `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi","extra":${delta}}}`,
      `{"type":"content_block_stop","index":0}`,
      `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}`,
      `{"type":"message_stop"}`,
    ]
      .map((data) => `event: ${/"type":"(\w+)"/.exec(data)?.[1]}\ndata: ${data}\n\n`)
      .join("");

  test.each([
    ["choices with probabilities", `{"choices":[${listed(CHOICE, COUNT / 4)}]}`],
    ["members with unusual names", `{"choices":[],"x":[${listed('{"é":1}')}]}`],
    [
      "members with unusual names beside texts",
      `{"choices":[${listed('{"text":"a"}', COUNT / 4)}],"x":[${listed('{"é":1}')}]}`,
    ],
  ])("an event with many %s is read by plugins", async (_, event) => {
    await answer(`data: ${event}\n\ndata: [DONE]\n\n`, "text/event-stream");
    for (const { isCut, length } of await chat(guarded, STREAM))
      expect([isCut, length > event.length / 2]).toEqual([false, true]);
  });

  test.each([
    ["small values", dense(3_500_000)],
    ["deep nesting", nested(100_000)],
  ])("an event with %s is relayed", async (_, value) => {
    await answer(chatEvent(value), "text/event-stream");
    for (const { status, length } of await chat(relayed, STREAM))
      expect([status, length > value.length]).toEqual([200, true]);
  });

  test.each([
    ["small values", dense(3_500_000)],
    ["deep nesting", nested(100_000)],
  ])("an event with %s is not translated", async (_, value) => {
    await answer(messageStream(value), "text/event-stream");
    for (const { isCut, length } of await chat(translated, STREAM))
      expect([isCut, length < 1000]).toEqual([true, true]);
  });

  test.each([
    ["small values", dense(3_500_000)],
    ["deep nesting", nested(100_000)],
  ])("an event with %s is not passed to plugins", async (_, value) => {
    await answer(chatEvent(value), "text/event-stream");
    // The first event decides whether the status has been sent.
    for (const { isCut, status, start } of await chat(guarded, STREAM))
      expect([isCut || status === 502, start.includes("[[[["), start.includes("[],[]")]).toEqual([
        true,
        false,
        false,
      ]);
  });
});
