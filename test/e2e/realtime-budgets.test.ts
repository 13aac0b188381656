// WebSockets of realtime endpoints with token limits and budgets: settled for each response, closed when one is exhausted, and charged
// with an estimate if a response is cut off.
import { describe, expect, test } from "bun:test";
import { create } from "../support/admin-fixtures.ts";
import { seedRoute, type SeededRoute } from "../support/proxy-fixtures.ts";
import { openRealtime, useRealtimeProvider } from "../support/realtime-provider.ts";
import { totalAfter } from "../support/usage-fixtures.ts";
import { useGatehouse } from "../support/use-gatehouse.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";

type Fields = Record<string, unknown>;

const provider = useRealtimeProvider();
const gatehouse = await useGatehouse();
const PRICES = [{ model: "gpt-rt", input: "1", output: "10", audio_output: "20" }];

let count = 0;

async function seed(gateway: Fields = {}): Promise<SeededRoute & { url: string }> {
  const route = await seedRoute(gatehouse, {
    gateway: { prices: PRICES, ...gateway },
    upstream: { targets: [{ provider: "openai", base_url: provider.url }], max_attempts: 1 },
    rule: { path: `/money${++count}/realtime`, methods: ["GET"] },
  });
  return { ...route, url: `${gatehouse.proxyUrl}${route.path}?model=gpt-rt` };
}

const addBudget = async (route: SeededRoute, fields: Fields): Promise<string> => {
  const { id } = await create(gatehouse, `/gateways/${route.gateway}/budgets`, {
    name: "team",
    unit: "tokens",
    amount: 1000,
    period: "month",
    ...fields,
  });
  return id as string;
};

const limiter = (limit: number, fields: Fields = {}): Fields => ({
  required_plugins: [
    {
      name: "token_limiter",
      stage: "pre_request",
      settings: { limits: { global: { limit, window: "1h", ...fields } } },
    },
  ],
});

const stateOf = async (route: SeededRoute, id: string) =>
  (await gatehouse.api("GET", `/gateways/${route.gateway}/budgets/${id}/state`)).body;

/** Waits until nothing is reserved. */
const settled = (route: SeededRoute, id: string) =>
  waitFor(async () => {
    const state = await stateOf(route, id);
    return Number(state.reserved) === 0 ? state : null;
  });

const record = (route: SeededRoute) =>
  waitFor(async () => (await gatehouse.api("GET", `/gateways/${route.gateway}/requests`)).body.requests[0]);

const CREATED = '{"type":"response.created","response":{"id":"resp_1"}}';
const done = (input: number, output: number, more: Fields = {}) =>
  JSON.stringify({
    type: "response.done",
    response: { status: "completed", usage: { input_tokens: input, output_tokens: output }, ...more },
  });

describe("each response is settled while the socket is open", () => {
  test("a budget shows what each response used, and what the next one has reserved", async () => {
    const route = await seed();
    const id = await addBudget(route, { amount: 10_000 });
    const client = await openRealtime(route.url);
    const socket = await provider.socket();
    for (const spent of [150, 300]) {
      socket.send(CREATED);
      socket.send(done(100, 50));
      await waitUntil(async () => (await stateOf(route, id)).spent === spent);
    }
    // The conversation so far, and the 95th percentile of the outputs.
    expect((await stateOf(route, id)).reserved).toBe(150 + 50);
    client.socket.close();
    expect(await settled(route, id)).toMatchObject({ spent: 300, reserved: 0 });
    expect(await totalAfter(gatehouse, route, 2)).toMatchObject({ requests: 2, input_tokens: 200 });
  });

  test("a socket without a response is charged nothing", async () => {
    const route = await seed();
    const id = await addBudget(route, {});
    const client = await openRealtime(route.url);
    expect((await stateOf(route, id)).reserved).toBe(250);
    client.socket.close();
    expect(await settled(route, id)).toMatchObject({ spent: 0, reserved: 0 });
  });
});

describe("a socket is closed with 1008 when a limit is exhausted", () => {
  test("by a response that used the rest of a budget, after its response.done was relayed", async () => {
    const route = await seed();
    const id = await addBudget(route, { amount: 400 });
    const client = await openRealtime(route.url);
    const socket = await provider.socket();
    socket.send(CREATED);
    socket.send(done(60, 40));
    await waitUntil(async () => (await stateOf(route, id)).spent === 100);
    expect(client.socket.readyState).toBe(WebSocket.OPEN);
    socket.send(CREATED);
    socket.send(done(280, 20));
    const closed = await client.closed;
    expect(closed).toMatchObject({ code: 1008, reason: expect.stringContaining('budget "team"') });
    expect(client.messages.at(-1)).toContain("response.done");
    await waitUntil(() => provider.closes.some(({ code }) => code === 1008));
    expect(await settled(route, id)).toMatchObject({ spent: 400, reserved: 0 });
    expect(await record(route)).toMatchObject({ outcome: "refused", error_code: "budget_exceeded" });
    const metrics = await (await fetch(`${gatehouse.adminUrl}/metrics`)).text();
    const { name } = (await gatehouse.api("GET", `/gateways/${route.gateway}`)).body;
    expect(metrics).toContain(`gatehouse_budget_refusals_total{gateway="${name}",budget="team"} 1`);
  });

  test("by the price of its responses: $0.05 at $0.01 each are five responses", async () => {
    const route = await seed({ prices: [{ model: "gpt-rt", per_request: "0.01" }] });
    const id = await addBudget(route, { unit: "usd", amount: "0.05" });
    const client = await openRealtime(route.url);
    const socket = await provider.socket();
    for (let sent = 0; sent < 5; sent++) {
      expect(client.socket.readyState).toBe(WebSocket.OPEN);
      socket.send(CREATED);
      socket.send(done(1, 1));
      await waitUntil(async () => (await stateOf(route, id)).spent === `0.0${sent + 1}`);
    }
    expect(await client.closed).toMatchObject({ code: 1008 });
    expect(await settled(route, id)).toMatchObject({ spent: "0.05", remaining: "0.00" });
  });

  test.each(["?model=other", ""])("of the model that the target gets instead of %p", async (query) => {
    const route = await seed();
    const target = {
      provider: "openai",
      base_url: provider.url,
      default_model: "gpt-rt",
      models: ["gpt-rt"],
    };
    await gatehouse.api("PATCH", `/gateways/${route.gateway}/upstreams/${route.upstream}`, {
      targets: [target],
      model_routing: "prefer",
    });
    const id = await addBudget(route, { amount: 400, models: ["gpt-rt"] });
    const client = await openRealtime(gatehouse.proxyUrl + route.path + query);
    const socket = await provider.socket();
    socket.send(CREATED);
    socket.send(done(300, 100));
    expect(await client.closed).toMatchObject({ code: 1008 });
    expect(await settled(route, id)).toMatchObject({ spent: 400 });
  });

  test("of token_limiter, with the type of the limit", async () => {
    const route = await seed(limiter(400, { count: "output" }));
    const client = await openRealtime(route.url);
    const socket = await provider.socket();
    socket.send(CREATED);
    socket.send(done(1_000_000, 40));
    await totalAfter(gatehouse, route, 1);
    client.socket.send("hello");
    await waitUntil(() => client.messages.includes("hello"));
    socket.send(CREATED);
    socket.send(done(5, 360));
    expect(await client.closed).toMatchObject({
      code: 1008,
      reason: expect.stringContaining("global_tokens"),
    });
    expect(await record(route)).toMatchObject({ outcome: "refused", error_code: "token_limit_exceeded" });
  });

  test("of token_limiter, if the conversation does not fit into it any more", async () => {
    const route = await seed(limiter(400, { count: "input" }));
    const client = await openRealtime(route.url);
    const socket = await provider.socket();
    socket.send(CREATED);
    socket.send(done(400, 40));
    expect(await client.closed).toMatchObject({
      code: 1008,
      reason: expect.stringContaining("440 input tokens, and the global limit is 400"),
    });
  });

  test("by another socket: its next response is not started", async () => {
    const route = await seed();
    await addBudget(route, { amount: 1000 });
    const first = await openRealtime(route.url);
    await provider.socket();
    const second = await openRealtime(route.url);
    await waitUntil(() => provider.sockets.length === 2);
    const [one, two] = provider.sockets;
    one?.send(CREATED);
    one?.send(done(900, 100));
    expect(await first.closed).toMatchObject({ code: 1008 });
    // The second one has reserved a response before.
    two?.send(CREATED);
    two?.send(done(1, 1));
    expect(await second.closed).toMatchObject({ code: 1008 });
  });

  test("but not if the budget only warns, or was raised meanwhile", async () => {
    const warning = await seed();
    const warned = await addBudget(warning, { amount: 100, mode: "warn" });
    const raising = await seed();
    const raised = await addBudget(raising, { amount: 100 });
    const clients = [await openRealtime(warning.url), await openRealtime(raising.url)];
    await waitUntil(() => provider.sockets.length === 2);
    const budget = `/gateways/${raising.gateway}/budgets/${raised}`;
    expect((await gatehouse.api("PATCH", budget, { amount: 10_000 })).status).toBe(200);
    for (const socket of provider.sockets) {
      socket.send(CREATED);
      socket.send(done(500, 100));
    }
    await waitUntil(async () => (await stateOf(warning, warned)).spent === 600);
    await waitUntil(async () => (await stateOf(raising, raised)).reserved === 600 + 100);
    for (const { socket } of clients) {
      socket.send("hello");
      expect(socket.readyState).toBe(WebSocket.OPEN);
    }
    for (const client of clients) {
      await waitUntil(() => client.messages.includes("hello"));
      client.socket.close();
    }
  });
});

describe("a response that is cut off is charged with an estimate", () => {
  const delta = (type: string, text: string) => JSON.stringify({ type, delta: text, response_id: "resp_1" });
  const WORDS = "one two three four five six seven eight nine ten ";
  const ask = (text: string) =>
    JSON.stringify({
      type: "conversation.item.create",
      item: { type: "message", role: "user", content: [{ type: "input_text", text }] },
    });

  test("of its text, and of the messages of the client, and is marked partial", async () => {
    const route = await seed();
    const id = await addBudget(route, { amount: 100_000 });
    const client = await openRealtime(route.url);
    const socket = await provider.socket();
    provider.onMessage = () => undefined;
    client.socket.send(ask(WORDS.repeat(20)));
    await waitUntil(() => provider.messages.length === 1);
    socket.send(CREATED);
    for (let sent = 0; sent < 30; sent++) socket.send(delta("response.output_text.delta", WORDS));
    await waitUntil(() => client.messages.length === 31);
    socket.terminate();
    await client.closed;
    const total = await totalAfter(gatehouse, route, 1);
    expect(total).toMatchObject({ requests: 1, partial_requests: 1, unpriced_requests: 0 });
    expect(total.input_tokens).toBeWithin(150, 270);
    expect(total.output_tokens).toBeWithin(225, 405);
    expect((await settled(route, id)).spent).toBe(total.input_tokens + total.output_tokens);
    expect(await record(route)).toMatchObject({ tokens: { partial: true } });
  });

  test("of its audio at the rate of OpenAI, and with the context of the response before", async () => {
    const route = await seed();
    const id = await addBudget(route, { amount: 100_000 });
    const client = await openRealtime(route.url);
    const socket = await provider.socket();
    socket.send(CREATED);
    socket.send(done(300, 200));
    socket.send(CREATED);
    // Ten seconds of 16-bit samples at 24 kHz.
    const second = Buffer.alloc(48_000).toString("base64");
    for (let sent = 0; sent < 10; sent++) socket.send(delta("response.output_audio.delta", second));
    await waitUntil(() => client.messages.length === 13);
    client.socket.terminate();
    const total = await totalAfter(gatehouse, route, 2);
    expect(total).toMatchObject({ requests: 2, partial_requests: 1 });
    expect(total.input_tokens).toBe(300 + 500);
    expect(total.output_tokens - 200).toBeWithin(195, 210);
    expect((await settled(route, id)).spent).toBe(total.input_tokens + total.output_tokens);
  });

  test("with at least one token if nothing of it arrived", async () => {
    const route = await seed();
    const id = await addBudget(route, { amount: 100_000 });
    const client = await openRealtime(route.url);
    (await provider.socket()).send(CREATED);
    await client.next();
    client.socket.terminate();
    const total = await totalAfter(gatehouse, route, 1);
    expect(total.input_tokens).toBeGreaterThan(0);
    expect((await settled(route, id)).spent).toBe(total.input_tokens + total.output_tokens);
  });

  test("and so is one that was canceled without usage, but not one that the provider failed", async () => {
    const route = await seed();
    const id = await addBudget(route, { amount: 100_000 });
    const client = await openRealtime(route.url);
    const socket = await provider.socket();
    socket.send(CREATED);
    socket.send('{"type":"response.done","response":{"status":"failed","usage":null}}');
    await waitUntil(async () => (await totalAfter(gatehouse, route, 1)).requests === 1);
    expect((await stateOf(route, id)).spent).toBe(0);
    socket.send(CREATED);
    socket.send(delta("response.output_audio_transcript.delta", WORDS));
    socket.send('{"type":"response.done","response":{"status":"cancelled","usage":null}}');
    await waitUntil(async () => (await stateOf(route, id)).spent >= 8);
    client.socket.close();
    expect((await settled(route, id)).spent).toBeWithin(8, 16);
  });
});

describe("transcriptions of audio, which another model makes", () => {
  const SESSION = {
    type: "session.updated",
    session: { audio: { input: { transcription: { model: "transcriber" } } } },
  };
  const prices = [...PRICES, { model: "transcriber", input: "2", output: "4" }];
  const transcription = (kind: string, fields: Fields) =>
    JSON.stringify({ type: `conversation.item.input_audio_transcription.${kind}`, ...fields });
  const audio = JSON.stringify({ type: "input_audio_buffer.append", audio: "A".repeat(64_000) });

  test("are charged with their own usage at their own price, and leave the reservation of the next response", async () => {
    const route = await seed({ prices });
    const tokens = await addBudget(route, { amount: 10_000 });
    const dollars = await addBudget(route, { name: "money", unit: "usd", amount: "1" });
    const client = await openRealtime(route.url);
    const socket = await provider.socket();
    const reserved = (await stateOf(route, tokens)).reserved;
    socket.send(JSON.stringify(SESSION));
    const usage = { type: "tokens", total_tokens: 130, input_tokens: 100, output_tokens: 30 };
    socket.send(transcription("completed", { transcript: "Good morning", usage }));
    await waitUntil(async () => (await stateOf(route, tokens)).spent === 130);
    expect(await stateOf(route, dollars)).toMatchObject({ spent: "0.00032" });
    expect((await stateOf(route, tokens)).reserved).toBe(reserved);
    // Billed by time: ten tokens per second.
    socket.send(transcription("completed", { transcript: "", usage: { type: "duration", seconds: 4.2 } }));
    await waitUntil(async () => (await stateOf(route, tokens)).spent === 130 + 42);
    socket.send(transcription("failed", {}));
    client.socket.close();
    expect(await settled(route, tokens)).toMatchObject({ spent: 172, reserved: 0 });
    const { body } = await gatehouse.api("GET", `/gateways/${route.gateway}/usage?group_by=model`);
    expect(body.usage).toMatchObject([{ model: "transcriber", requests: 2, input_tokens: 142 }]);
  });

  test("close the socket when they exhaust a budget", async () => {
    const route = await seed();
    const id = await addBudget(route, { amount: 400 });
    const client = await openRealtime(route.url);
    const usage = { type: "tokens", input_tokens: 390, output_tokens: 10 };
    (await provider.socket()).send(transcription("completed", { transcript: "Good morning", usage }));
    expect(await client.closed).toMatchObject({ code: 1008 });
    expect(await settled(route, id)).toMatchObject({ spent: 400, reserved: 0 });
  });

  test("that are cut off are charged with an estimate of their audio and text", async () => {
    const route = await seed();
    const id = await addBudget(route, { amount: 10_000 });
    const client = await openRealtime(route.url);
    const socket = await provider.socket();
    client.socket.send(audio);
    await waitUntil(() => provider.messages.length > 0);
    socket.send(transcription("delta", { delta: "Good morning" }));
    await waitUntil(() => client.messages.some((message) => message.includes("transcription.delta")));
    client.socket.terminate();
    const { spent } = await settled(route, id);
    expect(spent).toBeWithin(11, 20);
  });
});
