// Responses on one WebSocket that are generated at a time, or that the provider starts by itself: each of them is reserved before it starts and
// settled once, whatever the client and the provider send.
import { describe, expect, test } from "bun:test";
import { create } from "../support/admin-fixtures.ts";
import { seedRoute, type SeededRoute } from "../support/proxy-fixtures.ts";
import { openRealtime, useRealtimeProvider } from "../support/realtime-provider.ts";
import { totalAfter } from "../support/usage-fixtures.ts";
import { useGatehouse } from "../support/use-gatehouse.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";

type Fields = Record<string, unknown>;
type Client = Awaited<ReturnType<typeof openRealtime>>;

const provider = useRealtimeProvider();
const gatehouse = await useGatehouse();
const PRICES = [{ model: "gpt-rt", input: "1", output: "10", max_output_tokens: 4096 }];
const WORDS = "one two three four five six seven eight nine ten ";

let count = 0;

async function seed(gateway: Fields = {}): Promise<SeededRoute & { url: string }> {
  // The provider of the tests below sends nothing by itself.
  provider.onMessage = () => undefined;
  const route = await seedRoute(gatehouse, {
    gateway: { prices: PRICES, ...gateway },
    upstream: { targets: [{ provider: "openai", base_url: provider.url }], max_attempts: 1 },
    rule: { path: `/turns${++count}/realtime`, methods: ["GET"] },
  });
  return { ...route, url: `${gatehouse.proxyUrl}${route.path}?model=gpt-rt` };
}

/** Resolves to its id. */
async function addBudget(route: SeededRoute, amount: number | string, fields: Fields = {}): Promise<string> {
  const budget = { name: "team", unit: "tokens", amount, period: "month", ...fields };
  return (await create(gatehouse, `/gateways/${route.gateway}/budgets`, budget)).id as string;
}

const stateOf = async (route: SeededRoute, id: string) =>
  (await gatehouse.api("GET", `/gateways/${route.gateway}/budgets/${id}/state`)).body;

/** Waits until nothing is reserved. */
const settled = (route: SeededRoute, id: string) =>
  waitFor(async () => {
    const state = await stateOf(route, id);
    return Number(state.reserved) === 0 ? state : null;
  });

const ask = (maxOutputTokens: number | null, fields: Fields = {}): string =>
  JSON.stringify({
    type: "response.create",
    ...fields,
    response: {
      conversation: "none",
      ...(maxOutputTokens !== null && { max_output_tokens: maxOutputTokens }),
    },
  });
const started = (id: string, conversation: string | null = null) =>
  JSON.stringify({ type: "response.created", response: { id, conversation_id: conversation } });
const done = (id: string, input: number, output: number, conversation: string | null = null) =>
  JSON.stringify({
    type: "response.done",
    response: {
      ...{ id, conversation_id: conversation, status: "completed" },
      usage: { input_tokens: input, output_tokens: output },
    },
  });
const say = (text: string) =>
  JSON.stringify({
    type: "conversation.item.create",
    item: { type: "message", role: "user", content: [{ type: "input_text", text }] },
  });

/** Returns the id that an event has at the provider. */
const eventIdOf = (at: number): unknown => JSON.parse(String(provider.messages[at])).event_id;

/** Resolves to the error events that the client has got, when there are as many. */
const errorsOf = async ({ messages }: Client, amount: number) => {
  const errors = () => messages.filter((message) => String(message).includes('"type":"error"'));
  await waitUntil(() => errors().length === amount);
  return errors().map((message) => JSON.parse(String(message)));
};

describe("responses that the client asks for", () => {
  test("are reserved before the provider gets the event, each with its own limit", async () => {
    const route = await seed();
    const id = await addBudget(route, 100_000);
    const client = await openRealtime(route.url);
    const kept = (await stateOf(route, id)).reserved;
    for (const maximum of [1000, 2000, 4000]) client.socket.send(ask(maximum));
    await waitUntil(() => provider.messages.length === 3);
    const { reserved } = await stateOf(route, id);
    expect(reserved - kept).toBeWithin(7000, 7100);
    const socket = await provider.socket();
    for (const name of ["a", "b", "c"]) socket.send(started(name));
    for (const name of ["c", "a", "b"]) socket.send(done(name, 10, 90));
    await waitUntil(async () => (await stateOf(route, id)).spent === 300);
    client.socket.close();
    expect(await settled(route, id)).toMatchObject({ spent: 300 });
    expect(await totalAfter(gatehouse, route, 3)).toMatchObject({ requests: 3, input_tokens: 30 });
  });

  test("get the error event of the API if they do not fit, while others are generated", async () => {
    const route = await seed();
    const id = await addBudget(route, 10_000);
    const client = await openRealtime(route.url);
    for (const name of ["one", "two", "three"]) client.socket.send(ask(4500, { event_id: name }));
    const [error] = await errorsOf(client, 1);
    expect(error).toMatchObject({
      type: "error",
      event_id: expect.any(String),
      error: { code: "budget_exceeded", type: "insufficient_quota", event_id: "three" },
    });
    expect(error.error.message).toContain('budget "team"');
    expect(provider.messages).toHaveLength(2);
    expect(client.socket.readyState).toBe(WebSocket.OPEN);
    const socket = await provider.socket();
    for (const name of ["a", "b"]) socket.send(started(name));
    for (const name of ["a", "b"]) socket.send(done(name, 5, 5));
    await waitUntil(async () => (await stateOf(route, id)).spent === 20);
    // They used less than they had reserved.
    client.socket.send(ask(4500, { event_id: "four" }));
    await waitUntil(() => provider.messages.length === 3);
    socket.send(started("d"));
    socket.send(done("d", 1, 1));
    await waitUntil(async () => (await stateOf(route, id)).spent === 22);
    client.socket.close();
    expect(await settled(route, id)).toMatchObject({ spent: 22 });
  });

  test("close the socket with 1008 if they do not fit while none is generated", async () => {
    const route = await seed();
    const id = await addBudget(route, 3000);
    const client = await openRealtime(route.url);
    client.socket.send(ask(3500));
    await errorsOf(client, 1);
    expect(await client.closed).toMatchObject({ code: 1008, reason: expect.stringContaining('"team"') });
    expect(provider.messages).toEqual([]);
    expect(await settled(route, id)).toMatchObject({ spent: 0 });
  });

  test("are reserved with the estimated input of the conversation", async () => {
    const route = await seed();
    const id = await addBudget(route, 100_000);
    const client = await openRealtime(route.url);
    client.socket.send(say(WORDS.repeat(1000)));
    client.socket.send(ask(1));
    await waitUntil(() => provider.messages.length === 2);
    // For the response that the client has asked for, and for one that the provider starts by itself.
    expect((await stateOf(route, id)).reserved).toBeWithin(2 * 7500, 2 * 13_500 + 1000);
    const socket = await provider.socket();
    socket.send(started("a", "conv"));
    socket.send(done("a", 10_000, 1, "conv"));
    await waitUntil(async () => (await stateOf(route, id)).spent === 10_001);
    client.socket.close();
    await settled(route, id);
    const small = await seed();
    await addBudget(small, 5000);
    const other = await openRealtime(small.url);
    other.socket.send(say(WORDS.repeat(1000)));
    other.socket.send(ask(1));
    expect(await other.closed).toMatchObject({ code: 1008 });
    expect(provider.messages.some((message) => message.includes('"max_output_tokens":1'))).toBe(true);
    expect(provider.messages).toHaveLength(2);
  });

  test("under an output limit of the session teach no smaller estimates, and reserve it", async () => {
    const route = await seed();
    const id = await addBudget(route, 1_000_000);
    const client = await openRealtime(route.url);
    const socket = await provider.socket();
    const reservedFor = async (fields: Fields) => {
      const before = (await stateOf(route, id)).reserved;
      const sent = provider.messages.length;
      client.socket.send(JSON.stringify({ type: "response.create", response: fields }));
      await waitUntil(() => provider.messages.length === sent + 1);
      return (await stateOf(route, id)).reserved - before;
    };
    const limit = async (max: number | string) => {
      const sent = provider.messages.length;
      const session = { max_output_tokens: max };
      client.socket.send(JSON.stringify({ type: "session.update", session }));
      await waitUntil(() => provider.messages.length === sent + 1);
      // Until the provider has confirmed the limit, it may not be that of the response.
      const confirmed = JSON.stringify({ type: "session.updated", session });
      socket.send(confirmed);
      await waitUntil(() => client.messages.includes(confirmed));
    };
    const usual = await reservedFor({});
    socket.send(started("first"));
    socket.send(done("first", 1, 1000));
    await limit(1);
    expect(await reservedFor({})).toBeLessThan(100);
    expect(await reservedFor({ max_output_tokens: "inf" })).toBeGreaterThanOrEqual(Math.min(usual, 1000));
    for (let at = 0; at < 40; at++) {
      socket.send(started(`small_${at}`));
      socket.send(done(`small_${at}`, 1, 1));
    }
    await waitUntil(async () => (await stateOf(route, id)).spent === 1001 + 80);
    await limit("inf");
    expect(await reservedFor({})).toBeGreaterThanOrEqual(Math.min(usual, 1000));
    client.socket.close();
    await settled(route, id);
  });

  const LONG = WORDS.repeat(1000);
  const AUDIO = "input_audio_buffer.append";
  test.each([
    ["in a binary message", Buffer.from(say(LONG))],
    ["after a byte order mark", `\ufeff${say(LONG)}`],
    ["beside the name of audio as id", say(LONG).replace("{", `{"event_id":"${AUDIO}",`)],
    ["with the name of audio", say(`"${AUDIO}" ${LONG}`)],
    [
      "in instructions beside the name of audio",
      JSON.stringify({ event_id: AUDIO, type: "session.update", session: { instructions: LONG } }),
    ],
    [
      "in variables of a prompt",
      JSON.stringify({ type: "session.update", session: { prompt: { id: "p", variables: { a: LONG } } } }),
    ],
  ])("are reserved with input %s", async (_name, event) => {
    const route = await seed();
    const id = await addBudget(route, 100_000);
    const client = await openRealtime(route.url);
    client.socket.send(event);
    client.socket.send(ask(1));
    await waitUntil(() => provider.messages.length === 2);
    expect((await stateOf(route, id)).reserved).toBeGreaterThanOrEqual(2 * 7500);
    client.socket.close();
    await settled(route, id);
  });

  test.each([
    ["item", say(WORDS).replace("{", '{"item":{"type":"message"},')],
    ["text", say(WORDS).replace('"text":', '"text":"","text":')],
    ["instructions", '{"type":"session.update","session":{"instructions":"x","instructions":""}}'],
    ["input", '{"type":"response.create","response":{"input":["x"],"input":[]}}'],
  ])("are rejected with %s twice", async (_name, event) => {
    const route = await seed();
    const id = await addBudget(route, 100_000);
    const client = await openRealtime(route.url);
    for (const message of [event, Buffer.from(event)]) client.socket.send(message);
    for (const { error } of await errorsOf(client, 2)) expect(error).toMatchObject({ code: "invalid_json" });
    expect(provider.messages).toEqual([]);
    client.socket.close();
    await settled(route, id);
  });

  test("of token_limiter that could never fit are rejected, too", async () => {
    const settings = { limits: { global: { limit: 3000, window: "1h" } } };
    const route = await seed({
      required_plugins: [{ name: "token_limiter", stage: "pre_request", settings }],
    });
    const client = await openRealtime(route.url);
    client.socket.send(ask(3500, { event_id: "mine" }));
    const [error] = await errorsOf(client, 1);
    expect(error.error).toMatchObject({ code: "token_limit_unsatisfiable", event_id: "mine" });
    expect(await client.closed).toMatchObject({ code: 1008 });
    expect(provider.messages).toEqual([]);
  });

  test("that servers could read differently are rejected, and the socket stays open", async () => {
    const route = await seed();
    const id = await addBudget(route, 100_000);
    const client = await openRealtime(route.url);
    client.socket.send('{"type":"session.update","type":"response.create"}');
    client.socket.send(
      '{"type":"response.create","response":{"max_output_tokens":1,"max_output_tokens":4096}}',
    );
    for (const { error } of await errorsOf(client, 2)) expect(error).toMatchObject({ code: "invalid_json" });
    expect(provider.messages).toEqual([]);
    client.socket.send(ask(1));
    await waitUntil(() => provider.messages.length === 1);
    client.socket.close();
    await settled(route, id);
  });

  test("in binary messages are reserved as well", async () => {
    const route = await seed();
    const id = await addBudget(route, 100_000);
    const client = await openRealtime(route.url);
    const kept = (await stateOf(route, id)).reserved;
    client.socket.send(Buffer.from(ask(2000)));
    await waitUntil(() => provider.messages.length === 1);
    expect((await stateOf(route, id)).reserved - kept).toBeWithin(2000, 2500);
    client.socket.close();
    await settled(route, id);
  });

  test.each([
    ["mine", false],
    [undefined, false],
    ["mine", true],
  ])("and that the provider rejects cost nothing (event_id %p, binary %p)", async (name, isBinary) => {
    const route = await seed();
    const id = await addBudget(route, 100_000);
    const client = await openRealtime(route.url);
    const kept = (await stateOf(route, id)).reserved;
    const event = ask(1000, { event_id: name });
    client.socket.send(isBinary ? Buffer.from(event) : event);
    await waitUntil(() => provider.messages.length === 1);
    const socket = await provider.socket();
    const error = { code: "conversation_already_has_active_response", event_id: eventIdOf(0) };
    const rejection = JSON.stringify({ type: "error", error });
    socket.send(isBinary ? Buffer.from(rejection) : rejection);
    await waitUntil(async () => (await stateOf(route, id)).reserved === kept);
    // The client gets the id that it has given.
    expect(JSON.parse(String(await client.next())).error.event_id).toBe(name ?? null);
    client.socket.close();
    expect(await settled(route, id)).toMatchObject({ spent: 0 });
  });

  test.each([["mine"], [undefined]])(
    "stay reserved when the provider rejects another event with the same id (%p)",
    async (name) => {
      const route = await seed();
      const id = await addBudget(route, 100_000);
      const client = await openRealtime(route.url);
      client.socket.send(ask(3000, { event_id: name }));
      client.socket.send(ask(4000, { event_id: name }));
      client.socket.send(JSON.stringify({ type: "bogus", event_id: name }));
      await waitUntil(() => provider.messages.length === 3);
      const { reserved } = await stateOf(route, id);
      expect(reserved).toBeGreaterThanOrEqual(7000);
      const socket = await provider.socket();
      for (const event_id of [JSON.parse(String(provider.messages[2])).event_id ?? null, name ?? null, null])
        socket.send(JSON.stringify({ type: "error", error: { code: "unknown_event", event_id } }));
      // A charge follows on the errors, so that they were handled before.
      socket.send(done("other", 1, 1));
      await waitUntil(async () => (await stateOf(route, id)).spent === 2);
      expect((await stateOf(route, id)).reserved).toBeGreaterThanOrEqual(4000);
      socket.send(started("b"));
      socket.send(done("b", 10, 3990));
      await waitUntil(async () => (await stateOf(route, id)).spent === 4002);
      client.socket.close();
      await settled(route, id);
    },
  );

  test("and that have not started when the client disconnects are charged with their estimated input", async () => {
    const route = await seed();
    const id = await addBudget(route, 100_000);
    const client = await openRealtime(route.url);
    client.socket.send(say(WORDS.repeat(20)));
    client.socket.send(ask(1000));
    await waitUntil(() => provider.messages.length === 2);
    client.socket.terminate();
    expect((await settled(route, id)).spent).toBeWithin(150, 300);
    expect(await totalAfter(gatehouse, route, 1)).toMatchObject({ partial_requests: 1 });
  });

  test("may wait for the provider up to a bound", async () => {
    const route = await seed();
    const id = await addBudget(route, 10_000_000);
    const client = await openRealtime(route.url);
    for (let sent = 0; sent < 40; sent++) client.socket.send(ask(1, { event_id: `event ${sent}` }));
    const errors = await errorsOf(client, 8);
    for (const { error } of errors) expect(error.code).toBe("concurrency_limit_exceeded");
    expect(errors[0].error.event_id).toBe("event 32");
    await waitUntil(() => provider.messages.length === 32);
    client.socket.close();
    await settled(route, id);
  });
});

describe("responses that the provider starts by itself", () => {
  test("use the reservation that is kept ready, and several at a time reserve further ones", async () => {
    const route = await seed();
    const id = await addBudget(route, 100_000);
    const client = await openRealtime(route.url);
    const socket = await provider.socket();
    for (const name of ["a", "b", "c"]) socket.send(started(name));
    await waitUntil(async () => (await stateOf(route, id)).reserved >= 3000);
    for (const name of ["a", "b", "c"]) socket.send(done(name, 100, 10));
    await waitUntil(async () => (await stateOf(route, id)).spent === 330);
    client.socket.close();
    expect(await settled(route, id)).toMatchObject({ spent: 330 });
  });

  test("are stopped if nothing is left for them", async () => {
    const route = await seed();
    const id = await addBudget(route, 1500);
    const client = await openRealtime(route.url);
    const socket = await provider.socket();
    for (let at = 0; at < 8; at++) socket.send(started(`resp_${at}`));
    expect(await client.closed).toMatchObject({ code: 1008 });
    await waitUntil(() => provider.closes.some(({ code }) => code === 1008));
    expect((await settled(route, id)).spent).toBeLessThanOrEqual(1500);
  });
});

describe("charges", () => {
  test("of a response that is reported twice are made once", async () => {
    const route = await seed();
    const id = await addBudget(route, 100_000);
    const client = await openRealtime(route.url);
    const socket = await provider.socket();
    socket.send(started("a"));
    socket.send(started("a"));
    for (let sent = 0; sent < 3; sent++) socket.send(done("a", 100, 10));
    // One whose start was not reported is charged nevertheless.
    socket.send(done("b", 1, 1));
    await waitUntil(() => client.messages.length === 6);
    client.socket.close();
    expect(await settled(route, id)).toMatchObject({ spent: 112 });
  });

  test("are made although a new budget rejects the model, before the socket is closed", async () => {
    const route = await seed({ prices: [] });
    const id = await addBudget(route, 100_000);
    const client = await openRealtime(route.url);
    const socket = await provider.socket();
    for (const name of ["a", "b", "c"]) socket.send(started(name));
    await waitUntil(async () => (await stateOf(route, id)).reserved >= 3000);
    const money = await addBudget(route, "100", { name: "money", unit: "usd" });
    for (const name of ["a", "b", "c"]) socket.send(done(name, 100, 10));
    expect(await client.closed).toMatchObject({ code: 1008 });
    expect(await settled(route, id)).toMatchObject({ spent: 330 });
    expect(await settled(route, money)).toMatchObject({ spent: "0.00" });
  });

  test("with an estimate are those of the text of each response", async () => {
    const route = await seed();
    const id = await addBudget(route, 100_000);
    const client = await openRealtime(route.url);
    const socket = await provider.socket();
    const delta = (name: string) =>
      JSON.stringify({ type: "response.output_text.delta", response_id: name, delta: WORDS.repeat(100) });
    for (const name of ["a", "b"]) socket.send(started(name));
    for (const name of ["b", "a", "b"]) socket.send(delta(name));
    socket.send(done("a", 10, 20));
    await waitUntil(() => client.messages.length === 6);
    socket.terminate();
    await client.closed;
    // The text of the second response was relayed before the first one had ended.
    expect((await settled(route, id)).spent).toBeWithin(30 + 1500, 30 + 2700);
  });
});

describe("responses that are cut off", () => {
  test("and are not part of the conversation cost their own input", async () => {
    const route = await seed();
    const id = await addBudget(route, 1_000_000);
    const client = await openRealtime(route.url);
    const socket = await provider.socket();
    socket.send(started("a", "conv"));
    socket.send(done("a", 50_000, 1, "conv"));
    await waitUntil(async () => (await stateOf(route, id)).spent === 50_001);
    const input = [{ type: "message", role: "user", content: [{ type: "input_text", text: WORDS }] }];
    const response = { conversation: "none", max_output_tokens: 20, input };
    for (let at = 0; at < 10; at++) client.socket.send(JSON.stringify({ type: "response.create", response }));
    await waitUntil(() => provider.messages.length === 10);
    for (let at = 0; at < 5; at++) socket.send(started(`own_${at}`));
    await waitUntil(() => client.messages.length === 7);
    client.socket.terminate();
    expect((await settled(route, id)).spent - 50_001).toBeWithin(10 * 10, 10 * 30);
  });

  test("at a time have the same input, without the output of each other", async () => {
    const route = await seed();
    const id = await addBudget(route, 10_000_000);
    const client = await openRealtime(route.url);
    const socket = await provider.socket();
    socket.send(started("a", "conv"));
    socket.send(done("a", 999, 1, "conv"));
    const names = Array.from({ length: 20 }, (_, at) => `cut_${at}`);
    for (const name of names) socket.send(started(name, "conv"));
    const delta = { type: "response.output_text.delta", delta: WORDS.repeat(100) };
    for (const name of names) socket.send(JSON.stringify({ ...delta, response_id: name }));
    await waitUntil(() => client.messages.length === 42);
    socket.terminate();
    await client.closed;
    const billed = 1000 + 20 * (1000 + 1001);
    expect((await settled(route, id)).spent).toBeWithin(0.7 * billed, 1.5 * billed);
  });
});

/** A small generator of numbers, so that a failure can be repeated. */
function randomNumbers(seedNumber: number): (below: number) => number {
  let state = seedNumber;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const LIMIT = 20_000;
const LARGEST_BILL = 3000 + 200;

describe("a conversation of random events", () => {
  test.each([1, 2, 3, 4, 5, 6, 7, 8])(
    "is charged with what the provider bills (seed %i)",
    async (seedNumber) => {
      const random = randomNumbers(seedNumber);
      const route = await seed();
      const id = await addBudget(route, LIMIT);
      const client = await openRealtime(route.url);
      const socket = await provider.socket();
      const running: { name: string; most: number }[] = [];
      let billed = 0;
      let names = 0;
      const start = (most: number) => {
        const name = `resp_${++names}`;
        socket.send(started(name, random(2) === 0 ? null : "conv"));
        running.push({ name, most });
      };
      const end = () => {
        const [response] = running.splice(random(running.length), 1);
        if (response === undefined) return;
        const [input, output] = [random(20), random(response.most)];
        const isFree = random(8) === 0;
        if (!isFree) billed += input + output;
        const ended = isFree
          ? JSON.stringify({ type: "response.done", response: { id: response.name, status: "failed" } })
          : done(response.name, input, output);
        socket.send(ended);
        if (random(4) === 0) socket.send(ended);
      };
      provider.onMessage = (_socket, message) => {
        const event = JSON.parse(String(message));
        if (event.type !== "response.create") return;
        const rejected = { code: "invalid_value", event_id: event.event_id ?? null };
        if (random(5) === 0) socket.send(JSON.stringify({ type: "error", error: rejected }));
        else start(event.response.max_output_tokens);
        while (random(2) === 0) end();
      };
      let sent = 0;
      const isOpen = () => client.socket.readyState === WebSocket.OPEN;
      for (let step = 0; step < 60 && isOpen(); step++) {
        const most = 1 + random(3000);
        if (random(4) > 0)
          client.socket.send(ask(most, random(2) === 0 ? {} : { event_id: `event_${step}` }));
        else client.socket.send(say(WORDS));
        sent++;
        // Sometimes the events of both sides cross.
        if (random(3) > 0)
          await waitUntil(() => !isOpen() || provider.messages.length + errors(client) >= sent);
        if (random(6) === 0 && running.length === 0) start(200);
        const { spent } = await stateOf(route, id);
        expect(spent).toBeLessThanOrEqual(LIMIT + LARGEST_BILL);
      }
      await waitUntil(() => !isOpen() || provider.messages.length + errors(client) >= sent);
      while (running.length > 0 && isOpen()) end();
      await waitUntil(async () => !isOpen() || (await stateOf(route, id)).spent >= billed);
      client.socket.close();
      const { spent } = await settled(route, id);
      // Responses that were cut off when the budget was exhausted are estimated.
      if (running.length === 0) expect(spent).toBe(billed);
      else expect(spent).toBeGreaterThanOrEqual(billed);
      expect(spent).toBeLessThanOrEqual(LIMIT + LARGEST_BILL);
    },
  );

  const errors = ({ messages }: Client) =>
    messages.filter((message) => String(message).includes("insufficient_quota")).length;
});
