// Large messages of WebSockets: they are read in worker threads, and pass unchanged, in order, and with the checks and the usage of small ones.
import { describe, expect, test } from "bun:test";
import { create } from "../support/admin-fixtures.ts";
import { isLong } from "../support/long-form.ts";
import { readMetrics } from "../support/prometheus-text.ts";
import { seedKey, seedRoute, type SeededRoute } from "../support/proxy-fixtures.ts";
import { openRealtime, useRealtimeProvider } from "../support/realtime-provider.ts";
import { totalAfter } from "../support/usage-fixtures.ts";
import { useGatehouse } from "../support/use-gatehouse.ts";
import { waitUntil } from "../support/waiting.ts";

const provider = useRealtimeProvider();
const gatehouse = await useGatehouse({ env: { MAX_BODY_BYTES: String(24 * 1024 * 1024) } });
const PRICES = [{ model: "gpt-rt", input: "1", output: "10", max_output_tokens: 4096 }];
const WORDS = "Good morning, how are you today? ".repeat(20_000);
/** In MiB. OpenAI accepts 15 MiB of audio in one event. */
const AUDIO_SIZE = isLong ? 15 : 3;
const AUDIO = JSON.stringify({
  type: "input_audio_buffer.append",
  audio: Buffer.alloc(AUDIO_SIZE * 1024 * 1024, "audio").toString("base64"),
});

let count = 0;

async function seed(): Promise<SeededRoute & { url: string }> {
  const route = await seedRoute(gatehouse, {
    gateway: { prices: PRICES },
    upstream: { targets: [{ provider: "openai", base_url: provider.url }], max_attempts: 1 },
    rule: { path: `/large${++count}/realtime`, methods: ["GET"] },
  });
  return { ...route, url: `${gatehouse.proxyUrl}${route.path}?model=gpt-rt` };
}

async function addBudget(route: SeededRoute): Promise<() => Promise<{ spent: number; reserved: number }>> {
  const budget = { name: "team", unit: "tokens", amount: 10_000_000, period: "month" };
  const at = `/gateways/${route.gateway}/budgets`;
  const { id } = await create(gatehouse, at, budget);
  return async () => (await gatehouse.api("GET", `${at}/${id}/state`)).body;
}

async function tasks(): Promise<number> {
  const page = readMetrics(await (await fetch(`${gatehouse.adminUrl}/metrics`)).text());
  return page.sum("gatehouse_off_loop_tasks_total", { result: "completed" });
}

const say = (text: string) =>
  JSON.stringify({
    type: "conversation.item.create",
    item: { type: "message", role: "user", content: [{ type: "input_text", text }] },
  });
const responseTo = (input: string, fields: object = {}) =>
  JSON.stringify({
    type: "response.create",
    ...fields,
    response: {
      max_output_tokens: 100,
      conversation: "none",
      input: [{ type: "message", role: "user", content: [{ type: "input_text", text: input }] }],
    },
  });
const doneWith = (id: string, text: string) =>
  JSON.stringify({
    type: "response.done",
    response: {
      ...{ id, status: "completed", conversation_id: null, output: [{ text }] },
      usage: { input_tokens: 10, output_tokens: 90 },
    },
  });

test("large and small messages pass unchanged and in order, in both directions", async () => {
  const client = await openRealtime((await seed()).url);
  const bytes = Buffer.from(`\u0000${WORDS}`);
  const messages = [say("first"), say(WORDS), "ünï 🎤".repeat(50_000), bytes, "small", AUDIO, "last"];
  for (const message of messages) client.socket.send(message);
  for (const message of messages) {
    const received = await client.next();
    expect(typeof received).toBe(typeof message);
    expect(Buffer.from(received).equals(Buffer.from(message))).toBe(true);
  }
  expect(provider.messages.map(({ length }) => length)).toEqual(messages.map(({ length }) => length));
  client.socket.close(4000, "end");
  expect(await client.closed).toMatchObject({ code: 4000, reason: "end" });
});

describe("a thread reads", () => {
  test.each([
    ["a message with many bytes", say(WORDS), "ok", 1],
    ["a message with many values", say("").replace("[", `[${"[],".repeat(5000)}`), "ok", 1],
    ["a large message of the provider", "ok", doneWith("a", WORDS), 1],
    ["no small message", say("hello"), doneWith("a", "hello"), 0],
  ])("%s", async (_, sent, returned, expected) => {
    const client = await openRealtime((await seed()).url);
    provider.onMessage = (socket) => void socket.send(returned);
    const before = await tasks();
    client.socket.send(sent);
    expect(await client.next()).toBe(returned);
    expect((await tasks()) - before).toBe(expected);
    client.socket.close();
  });
});

test("a large request for a response is reserved, settled, and has the client's id in errors", async () => {
  const route = await seed();
  const state = await addBudget(route);
  const client = await openRealtime(route.url);
  provider.onMessage = (socket, message) => {
    const { event_id, type } = JSON.parse(String(message));
    if (type !== "response.create") return;
    expect(event_id).not.toBe("mine");
    socket.send(JSON.stringify({ type: "error", error: { event_id, message: WORDS } }));
  };
  const kept = (await state()).reserved;
  client.socket.send(responseTo(WORDS, { event_id: "mine" }));
  expect(JSON.parse(String(await client.next()))).toEqual({
    type: "error",
    error: { event_id: "mine", message: WORDS },
  });
  await waitUntil(async () => (await state()).reserved === kept);
  provider.onMessage = () => undefined;
  client.socket.send(responseTo(WORDS));
  await waitUntil(() => provider.messages.length === 2);
  expect((await state()).reserved - kept).toBeGreaterThan(100_000);
  const socket = await provider.socket();
  socket.send(JSON.stringify({ type: "response.created", response: { id: "a", conversation_id: null } }));
  socket.send(doneWith("a", WORDS.repeat(8)));
  await waitUntil(async () => (await state()).spent === 100);
  expect(await totalAfter(gatehouse, route, 1)).toMatchObject({ input_tokens: 10, output_tokens: 90 });
  client.socket.close();
});

test("the input and output of a response that is cut is estimated from large messages, too", async () => {
  const route = await seed();
  const state = await addBudget(route);
  const client = await openRealtime(route.url);
  provider.onMessage = (socket) => {
    socket.send(JSON.stringify({ type: "response.created", response: { id: "a" } }));
    socket.send(JSON.stringify({ type: "response.output_text.delta", response_id: "a", delta: WORDS }));
  };
  client.socket.send(responseTo(WORDS));
  for (let received = 0; received < 2; received++) await client.next();
  client.socket.close();
  await waitUntil(async () => (await state()).spent > 250_000);
});

test("a large message that names a model which the key may not use is refused", async () => {
  const { gateway, url } = await seed();
  const { key } = await seedKey(gatehouse, gateway, { models: ["gpt-rt"] });
  const client = await openRealtime(url, { headers: { "X-GW-API-Key": key } });
  const update = (model: string) =>
    JSON.stringify({ type: "session.update", session: { instructions: WORDS, audio: { input: { model } } } });
  client.socket.send(update("gpt-rt"));
  await client.next();
  client.socket.send(update("gpt-other"));
  expect(await client.closed).toMatchObject({ code: 1008 });
  expect(provider.messages).toHaveLength(1);
});
