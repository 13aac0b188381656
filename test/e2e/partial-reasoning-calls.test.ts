// Hidden tokens of models that reason in calls whose response no client gets: failed attempts, hedges, mirrors, calls of plugins, WebSockets.
import { afterAll, beforeEach, expect, test } from "bun:test";
import { startFakeProvider } from "../../src/fake-provider/server.ts";
import { create } from "../support/admin-fixtures.ts";
import { startGatehouseInProcess } from "../support/gatehouse-in-process.ts";
import { asynchronous, pluginsDirectory, scripted, SCRIPTED_PLUGINS } from "../support/plugin-fixtures.ts";
import { seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { openRealtime, useRealtimeProvider } from "../support/realtime-provider.ts";
import { passTimeUntil, waitFor, waitUntil } from "../support/waiting.ts";

const gatehouse = await startGatehouseInProcess({
  env: { PLUGINS_DIR: pluginsDirectory(SCRIPTED_PLUGINS) },
});
const { clock } = gatehouse;
const realtime = useRealtimeProvider();
const names = ["one", "two"];
const [one, two] = (await Promise.all(names.map((name) => startFakeProvider({ name, clock })))) as [
  Awaited<ReturnType<typeof startFakeProvider>>,
  Awaited<ReturnType<typeof startFakeProvider>>,
];

beforeEach(() => {
  one.reset();
  two.reset();
  two.behave({ usage: { input: 10, output: 20 } });
});
afterAll(async () => {
  await gatehouse.stop();
  await Promise.all([one.stop(), two.stop()]);
});

const INPUT = 9;
const SILENT = { delayMs: 3_600_000 };
const request = (model: string) => ({
  model,
  messages: [{ role: "user", content: "Good morning" }],
  max_completion_tokens: 20_000,
});

interface Seeded {
  readonly gateway: string;
  readonly upstream: string;
  readonly service: string;
  readonly url: string;
  readonly budget: string;
}

async function seed(upstream: object, gateway: object = {}): Promise<Seeded> {
  const route = await seedRoute(gatehouse, {
    gateway: { prices: [{ model: "*", input: "1", output: "10" }], ...gateway },
    upstream: { targets: [targetAt(one), targetAt(two, { priority: 2 })], ...upstream },
  });
  const at = `/gateways/${route.gateway}`;
  const budget = { name: "tokens", unit: "tokens", amount: 1_000_000 };
  const { id } = await create(gatehouse, `${at}/budgets`, budget);
  return {
    ...route,
    gateway: at,
    url: gatehouse.proxyUrl + route.path,
    budget: `${at}/budgets/${id}/state`,
  };
}

async function send({ url }: Seeded, model = "o3"): Promise<number> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(request(model)),
  });
  await response.text();
  return response.status;
}

/** Resolves to the tokens that were spent when as many calls as expected are in the usage, and nothing is reserved. */
async function spent({ budget, gateway }: Seeded, purpose: string): Promise<number> {
  return waitFor(async () => {
    clock.advance(1000);
    const { body: usage } = await gatehouse.api("GET", `${gateway}/usage?group_by=purpose`);
    if (!JSON.stringify(usage).includes(`"${purpose}"`)) return null;
    const { body } = await gatehouse.api("GET", budget);
    return Number(body.reserved) === 0 ? Number(body.spent) : null;
  });
}

test("an attempt that timed out costs the tokens that its model has generated, besides the response", async () => {
  one.behave(SILENT);
  const route = await seed({ timeouts: { first_byte: 2000 }, max_attempts: 2 });
  expect(await passTimeUntil(clock, send(route))).toBe(200);
  expect(await spent(route, "request")).toBeWithin(30 + INPUT + 200, 30 + INPUT + 400);
});

test("the unused attempt of a hedged request", async () => {
  one.behave(SILENT);
  const route = await seed({ hedge: { after: 2000, budget: 1 } });
  expect(await passTimeUntil(clock, send(route))).toBe(200);
  expect(await spent(route, "hedge")).toBeWithin(30 + INPUT + 200, 30 + INPUT + 400);
});

test("a copy for a mirror that does not respond in time", async () => {
  two.behave(SILENT);
  one.behave({ usage: { input: 10, output: 20 } });
  const route = await seed({ targets: [targetAt(one)] });
  const mirror = await create(gatehouse, `${route.gateway}/upstreams`, {
    name: "mirror",
    targets: [targetAt(two)],
    timeouts: { total: 2000 },
  });
  await gatehouse.api("PATCH", `${route.gateway}/services/${route.service}`, { virtual_models: "any" });
  await create(gatehouse, `${route.gateway}/models`, {
    name: "assistant",
    targets: [{ upstream: route.upstream, model: "gpt-4o" }],
    mirror: { target: { upstream: mirror.id, model: "o3" }, share: 1 },
  });
  expect(await send(route, "assistant")).toBe(200);
  await passTimeUntil(
    clock,
    two.until(() => two.requests[0]?.aborted === true),
  );
  expect(await spent(route, "mirror")).toBeWithin(30 + INPUT + 200, 30 + INPUT + 400);
});

test("a call of a plugin that ends before its response", async () => {
  two.behave(SILENT);
  one.behave({ usage: { input: 10, output: 20 } });
  const call = `context.callService("judge", { body: ${JSON.stringify(request("o3"))} }, { timeoutMs: 2000 })`;
  const plugin = scripted("pre_request", asynchronous(`await ${call}.catch(() => null);`));
  const route = await seed({ targets: [targetAt(one)] }, { required_plugins: [plugin] });
  const judge = await create(gatehouse, `${route.gateway}/upstreams`, {
    name: "judge",
    targets: [targetAt(two)],
  });
  await create(gatehouse, `${route.gateway}/services`, { name: "judge", upstream_id: judge.id });
  expect(await passTimeUntil(clock, send(route, "gpt-4o"))).toBe(200);
  expect(await spent(route, "plugin")).toBeWithin(30 + INPUT + 200, 30 + INPUT + 400);
});

test("a response of a WebSocket that its client leaves", async () => {
  const upstream = { targets: [{ provider: "openai", base_url: realtime.url }] };
  const route = await seedRoute(gatehouse, {
    gateway: { prices: [{ model: "*", input: "1", output: "10" }] },
    upstream,
    rule: { path: "/reasoning/realtime", methods: ["GET"] },
  });
  const gateway = `/gateways/${route.gateway}`;
  const { id } = await create(gatehouse, `${gateway}/budgets`, {
    name: "tokens",
    unit: "tokens",
    amount: 1_000_000,
  });
  const client = await openRealtime(`${gatehouse.proxyUrl}${route.path}?model=o3`);
  const socket = await realtime.socket();
  const response = { id: "resp_1", object: "realtime.response", status: "in_progress" };
  socket.send(JSON.stringify({ type: "response.created", response }));
  await waitUntil(() => client.messages.length === 1);
  clock.advance(3000);
  client.socket.terminate();
  // The gateway settles when both sides are closed. Reading what is spent advances the clock.
  await waitUntil(async () => (await gatehouse.api("GET", `${gateway}/requests`)).body.requests.length === 1);
  const budget = `${gateway}/budgets/${id}/state`;
  expect(await spent({ ...route, gateway, url: "", budget }, "request")).toBeWithin(300, 302);
});
