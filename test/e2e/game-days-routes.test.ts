// Game days of gateways with hedging, virtual models, canaries, and WebSockets: faults are handled as those of a provider, others see nothing
// of them, and nothing of it is billed.
import { afterEach, describe, expect, test } from "bun:test";
import { create } from "../support/admin-fixtures.ts";
import { CHAT_REQUEST } from "../support/balancing-fixtures.ts";
import { seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { openRealtime, useRealtimeProvider } from "../support/realtime-provider.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";

const realtime = useRealtimeProvider();
const [gatehouse, one, two] = await Promise.all([
  useGatehouse(),
  useFakeProvider({ name: "one" }),
  useFakeProvider({ name: "two" }),
]);

const DRILL = { "x-drill": "yes" };
let started: string | null = null;

async function drill({ gateway }: SeededRoute, fields: object): Promise<void> {
  const at = `/gateways/${gateway}/game-days`;
  const ends_at = new Date(Date.now() + 600_000).toISOString();
  const body = { name: "drill", ends_at, match: { headers: DRILL }, ...fields };
  started = `${at}/${(await create(gatehouse, at, body)).id}`;
}

const stop = () => gatehouse.api("POST", `${started ?? ""}/stop`, {});

afterEach(async () => {
  if (started !== null) await gatehouse.api("DELETE", started);
  started = null;
});

async function send({ path }: SeededRoute, headers: Record<string, string> = {}, body: object = {}) {
  const response = await fetch(gatehouse.proxyUrl + path, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify({ ...CHAT_REQUEST, ...body }),
  });
  const text = await response.text();
  const header = (name: string) => response.headers.get(`x-gw-${name}`);
  return {
    status: response.status,
    text,
    provider: header("provider"),
    fault: header("fault"),
    hedged: header("hedged"),
    model: header("model"),
    canary: header("canary"),
    attempts: header("attempts"),
  };
}

const addBudget = async ({ gateway }: SeededRoute) => {
  const fields = { name: "all", unit: "tokens", amount: 1_000_000, period: "total" };
  return `/gateways/${gateway}/budgets/${(await create(gatehouse, `/gateways/${gateway}/budgets`, fields)).id}`;
};

/** Waits until nothing is reserved. */
const spentOf = (budget: string) =>
  waitFor(async () => {
    const { spent, reserved } = (await gatehouse.api("GET", `${budget}/state`)).body;
    return Number(reserved) === 0 ? Number(spent) : null;
  });

const usageOf = async ({ gateway }: SeededRoute) =>
  (await gatehouse.api("GET", `/gateways/${gateway}/usage?group_by=purpose`)).body.usage as {
    input_tokens: number;
  }[];

describe("hedging", () => {
  const path = "/v1/chat/completions";
  const seedHedged = () =>
    seedRoute(gatehouse, {
      upstream: {
        targets: [
          targetAt(one, { provider: "one", path }),
          targetAt(two, { provider: "two", path, priority: 2 }),
        ],
        hedge: { after: 40, budget: 1 },
      },
    });

  test("a stalled first attempt is hedged, and neither attempt is billed", async () => {
    const route = await seedHedged();
    const budget = await addBudget(route);
    await drill(route, { faults: [{ type: "stall", attempts: 1 }] });
    for (const stream of [false, true])
      expect(await send(route, DRILL, { stream })).toMatchObject({
        status: 200,
        provider: "two",
        fault: "stall",
        hedged: "won",
        attempts: "2",
      });
    expect(await spentOf(budget)).toBe(0);
    expect(await usageOf(route)).toEqual([]);
  });

  test("a fault of the second attempt is that of a hedge that has lost", async () => {
    const route = await seedHedged();
    one.behave({ delayMs: 400 });
    const { upstream, gateway } = route;
    const { targets } = (await gatehouse.api("GET", `/gateways/${gateway}/upstreams/${upstream}`)).body;
    await drill(route, { faults: [{ type: "refuse", target_ids: [targets[1].id] }] });
    const expected = { status: 200, provider: "one", fault: "refuse", hedged: "lost", attempts: "2" };
    expect(await send(route, DRILL)).toMatchObject(expected);
  });

  test("injected 429s stop hedges of affected requests only", async () => {
    const route = await seedHedged();
    one.behave({ delayMs: 400 });
    two.behave({ delayMs: 400 });
    await drill(route, { faults: [{ type: "status", status: 429, attempts: 1 }] });
    expect(await send(route, DRILL)).toMatchObject({ status: 200, hedged: null, attempts: "2" });
    expect(await send(route, DRILL)).toMatchObject({ status: 200, hedged: null, attempts: "2" });
    expect(await send(route)).toMatchObject({ status: 200, fault: null, hedged: "lost", attempts: "2" });
  });
});

describe("virtual models", () => {
  async function seedModel(fields: object) {
    const health_checks = { passive: true, threshold: 3, interval: 60_000 };
    const route = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(one, { provider: "one" })], health_checks },
    });
    const at = `/gateways/${route.gateway}`;
    const targets = [targetAt(two, { provider: "two" })];
    const other = await create(gatehouse, `${at}/upstreams`, { name: "other", targets, health_checks });
    await gatehouse.api("PATCH", `${at}/services/${route.service}`, { virtual_models: "any" });
    const body = { name: "assistant", targets: [{ upstream: route.upstream, model: "old" }] };
    const canary = { target: { upstream: other.id, model: "new" }, share: 1, ...fields };
    const { id } = await create(gatehouse, `${at}/models`, { ...body, canary });
    return { route, model: `${at}/models/${id}`, other: other.targets[0].id as string };
  }

  const ask = (route: SeededRoute, headers: Record<string, string> = {}) =>
    send(route, headers, { model: "assistant" });

  test("a target with a fault is left for another one; others, the canary, and the bill see nothing of it", async () => {
    const rollback_if = { error_ratio: 1.1, first_byte_ratio: null, min_requests: 2 };
    const { route, model, other } = await seedModel({ rollback_if });
    const budget = await addBudget(route);
    await drill(route, { faults: [{ type: "status", status: 503, target_ids: [other] }] });
    for (let count = 0; count < 3; count++)
      expect(await ask(route, DRILL)).toMatchObject({
        status: 200,
        provider: "one",
        attempts: "2",
        fault: expect.stringContaining("status"),
      });
    expect(await spentOf(budget)).toBe(0);
    expect(await usageOf(route)).toEqual([]);
    // Like one that really fails, the target is ejected, but only for affected requests.
    expect(await ask(route, DRILL)).toMatchObject({ status: 200, provider: "one", attempts: "1" });
    // A canary with real failures is switched off; the decision about this one would have been made by then.
    const real = await create(gatehouse, `/gateways/${route.gateway}/upstreams`, {
      name: "closed",
      // Nothing listens at this port.
      targets: [{ provider: "closed", base_url: "http://127.0.0.1:1" }],
      health_checks: { passive: false },
    });
    const { id } = await create(gatehouse, `/gateways/${route.gateway}/models`, {
      name: "failing",
      targets: [{ upstream: route.upstream, model: "old" }],
      canary: { target: { upstream: real.id, model: "new" }, share: 1, rollback_if },
    });
    for (let count = 0; count < 3; count++)
      expect(await send(route, {}, { model: "failing" })).toMatchObject({ status: 200, provider: "one" });
    const canaryOf = async (at: string) => (await gatehouse.api("GET", at)).body.canary;
    await waitUntil(async () => (await canaryOf(`/gateways/${route.gateway}/models/${id}`))?.share !== 1);
    expect(await canaryOf(model)).toMatchObject({ share: 1 });
    // The target that failed for affected requests still serves others, and is still the canary.
    for (let count = 0; count < 4; count++)
      expect(await ask(route)).toMatchObject({ status: 200, provider: "two", model: "new", fault: null });
  });
});

test("truncated JSON of a stream looks like a provider that sends half of its first event", async () => {
  const route = await seedRoute(gatehouse, {
    upstream: { targets: [targetAt(one, { path: "/v1/chat/completions" })], max_attempts: 1 },
  });
  const first = (await send(route, {}, { stream: true })).text.split("\n\n")[0] ?? "";
  await drill(route, { faults: [{ type: "truncated_json" }] });
  const { status, text, fault } = await send(route, DRILL, { stream: true });
  expect({ status, fault }).toEqual({ status: 200, fault: "truncated_json" });
  const json = /^data: (\{.*?)\s*$/.exec(text)?.[1] ?? "";
  expect(json.length).toBeGreaterThan(10);
  expect(json.length).toBeLessThan(first.length - 10);
  expect(() => void JSON.parse(json)).toThrow();
  const headers: [string, string][] = [["Content-Type", "text/event-stream; charset=utf-8"]];
  const half = await send(route, { "x-fake": JSON.stringify({ headers, body: [text] }) }, { stream: true });
  expect(half).toMatchObject({ status: 200, text, provider: "openai", attempts: "1" });
});

test("responses of a WebSocket are not billed while the game day that affected it runs, and are afterwards", async () => {
  const route = await seedRoute(gatehouse, {
    upstream: { targets: [{ provider: "openai", base_url: realtime.url }], max_attempts: 1 },
    rule: { path: "/drill/realtime", methods: ["GET"] },
  });
  const budget = await addBudget(route);
  await drill(route, { faults: [{ type: "delay", ms: 10 }] });
  const client = await openRealtime(`${gatehouse.proxyUrl}${route.path}?model=gpt-rt`, { headers: DRILL });
  const socket = await realtime.socket();
  const respond = (tokens: number) => {
    socket.send('{"type":"response.created","response":{"id":"resp_1"}}');
    const usage = { input_tokens: tokens, output_tokens: 0 };
    socket.send(JSON.stringify({ type: "response.done", response: { status: "completed", usage } }));
  };
  const stateOf = async () => (await gatehouse.api("GET", `${budget}/state`)).body;
  respond(1000);
  await waitUntil(() => client.messages.length === 2);
  await stop();
  // Nodes stop within a second.
  await waitUntil(async () => {
    respond(7);
    return (await stateOf()).spent > 0;
  });
  client.socket.close();
  const spent = await spentOf(budget);
  expect(spent % 7).toBe(0);
  expect(spent).toBeLessThan(1000);
  await waitUntil(async () => {
    const [row] = await usageOf(route);
    return row?.input_tokens === spent;
  });
});
