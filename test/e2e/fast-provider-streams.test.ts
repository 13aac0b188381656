// Streams of providers that have arrived at once, eight at a time, in many small events: each is read over several turns of the event
// loop, whether it is relayed, translated, or read by plugins. Bytes and order stay the same.
import { afterAll, describe, expect, test } from "bun:test";
import { countTurns } from "../support/counted-turns.ts";
import { measureTurns } from "../support/event-loop-meter.ts";
import { startGatehouseInProcess } from "../support/gatehouse-in-process.ts";
import { isLong } from "../support/long-form.ts";
import { usePeerThread } from "../support/peer-thread.ts";
import { seedRoute } from "../support/proxy-fixtures.ts";

const AT_ONCE = isLong ? 8 : 1;
const STREAM_BYTES = isLong ? 4_000_000 : 100_000;
/** In CPU time, and only asserted in the long form: see large-provider-responses.test.ts. */
const LONGEST_TURN_MS = isLong ? 100 : Infinity;

const peers = await usePeerThread();
const gatehouse = await startGatehouseInProcess();
afterAll(() => gatehouse.stop());

const TYPE = "text/event-stream";
const filled = (piece: string) => piece.repeat(Math.ceil(STREAM_BYTES / piece.length));
const chunkOf = (delta: object) => `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta }] })}\n\n`;
const END = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":5,"total_tokens":8}}\n\ndata: [DONE]\n\n`;
const SMALL = chunkOf({ content: "a" });
const ARGUMENTS = chunkOf({ tool_calls: [{ index: 0, function: { arguments: "1" } }] });
const CALL = chunkOf({
  tool_calls: [{ index: 0, id: "t", type: "function", function: { name: "run", arguments: "" } }],
});
const CHOICES = `data: {"id":"c","choices":[${'{"index":0,"delta":{"content":"a"}},'.repeat(3000)}{"index":0,"delta":{}}]}\n\n`;

const MASK = { name: "pii_mask", stage: "pre_request", priority: 1, settings: {} };
const TOOLS = {
  name: "tool_policy",
  stage: "pre_request",
  priority: 2,
  settings: {
    rules: [{ tool: "shell", source: "called", when: { required: ["command"] }, action: "deny" }],
    default: "allow",
  },
};

async function routeTo(provider: string, plugins: readonly object[] = []): Promise<string> {
  const { path } = await seedRoute(gatehouse, {
    gateway: { required_plugins: plugins },
    upstream: { targets: [{ provider, base_url: peers.url, path: "/stream" }], max_attempts: 1 },
  });
  return gatehouse.proxyUrl + path;
}
const relayed = await routeTo("openai");
const masked = await routeTo("openai", [MASK]);
const guarded = await routeTo("openai", [MASK, TOOLS]);

async function stream(url: string, body: string) {
  await peers.respondTo("/stream", body, TYPE);
  const send = () =>
    peers.send({
      url,
      headers: { "Content-Type": "application/json" },
      body: `{"model":"m","stream":true,"messages":[{"role":"user","content":"Write to ann@example.com."}]}`,
      count: AT_ONCE,
    });
  const counted = countTurns();
  const { value, longestMs } = await measureTurns(send);
  counted.stop();
  expect(longestMs).toBeLessThan(LONGEST_TURN_MS);
  return { responses: value, turns: counted.count };
}

// Code and threads are loaded with the first requests.
for (const url of [relayed, masked, guarded])
  for (let round = 0; round < 3; round++) await stream(url, SMALL.repeat(500) + END);

describe.each([
  ["without plugins", relayed],
  ["beside a plugin that holds text", masked],
  ["beside two plugins", guarded],
])("%s", (_, url) => {
  test.each([
    ["small events", filled(SMALL)],
    ["comments", filled(":\n\n")],
    ["blank lines", filled("\n")],
    ["lines without data", filled("id: 1\nevent: x\n") + "\n"],
    ["events with many choices", filled(CHOICES)],
  ])("%s reach the client", async (_, body) => {
    const { responses } = await stream(url, body + END);
    for (const { status, isCut, length } of responses)
      expect([status, isCut, length >= body.length]).toEqual([200, false, true]);
  });
});

test("the arguments of a tool in pieces of one byte reach the client", async () => {
  const body = CALL + ARGUMENTS.repeat(isLong ? 50_000 : 4000) + END;
  const { responses } = await stream(guarded, body);
  for (const { status, isCut, length } of responses)
    expect([status, isCut, length >= body.length]).toEqual([200, false, true]);
});

test("an event with too many data lines ends the stream with an error of the provider", async () => {
  const { responses } = await stream(guarded, SMALL + "data:\n".repeat(70_000) + "\n" + END);
  for (const { isCut, length } of responses) expect([isCut, length < 1000]).toEqual([true, true]);
});
