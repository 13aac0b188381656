// Upstreams with `on_cancel: drain`: the provider is read to its usage when the client has left, and the request is settled exactly.
import { afterAll, expect, test } from "bun:test";
import { create } from "../support/admin-fixtures.ts";
import { startGatehouseInProcess, type GatehouseInProcess } from "../support/gatehouse-in-process.ts";
import { pluginsDirectory, scripted, SCRIPTED_PLUGINS } from "../support/plugin-fixtures.ts";
import { CHAT, seedRoute } from "../support/proxy-fixtures.ts";
import { connectRaw, rawRequest } from "../support/raw-client.ts";
import { LeavingClient, SteppedProvider } from "../support/stepped-provider.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";

const gatehouse = await startGatehouseInProcess({
  env: { PLUGINS_DIR: pluginsDirectory(SCRIPTED_PLUGINS) },
});
const provider = new SteppedProvider();
const { clock } = gatehouse;

afterAll(async () => {
  await gatehouse.stop();
  await provider.stop();
});

const request = (fields: object = {}) => ({ ...CHAT, model: "o3", stream: true, ...fields });

interface Seeded {
  readonly url: string;
  readonly at: string;
  readonly upstream: string;
  readonly budget: string;
}

async function seed(
  at: GatehouseInProcess = gatehouse,
  upstream: object = {},
  gatewayFields: object = {},
): Promise<Seeded> {
  const route = await seedRoute(at, {
    gateway: { prices: [{ model: "*", input: "1", output: "10" }], ...gatewayFields },
    upstream: {
      targets: [{ provider: "openai", base_url: provider.url }],
      on_cancel: "drain",
      health_checks: { passive: true, threshold: 1, interval: 60 },
      ...upstream,
    },
  });
  const gateway = `/gateways/${route.gateway}`;
  const budget = { name: "tokens", unit: "tokens", amount: 100_000_000 };
  const { id } = await create(at, `${gateway}/budgets`, budget);
  return {
    url: at.proxyUrl + route.path,
    at: gateway,
    upstream: `${gateway}/upstreams/${route.upstream}`,
    budget: `${gateway}/budgets/${id}/state`,
  };
}

let calls = 0;

const spent = async ({ budget }: Seeded) => Number((await gatehouse.api("GET", budget)).body.spent);

const recordOf = ({ at }: Seeded) =>
  waitFor(async () => (await gatehouse.api("GET", `${at}/requests`)).body.requests[0]);

async function metric(name: string, text: string): Promise<number> {
  const page = await (await fetch(`${gatehouse.adminUrl}/metrics`)).text();
  const line = page.split("\n").find((each) => each.startsWith(name) && each.includes(text));
  return Number(line?.split(" ").at(-1) ?? 0);
}

const draining = () => metric("gatehouse_draining_responses", "");

/** Sends a request and leaves: in the middle of its stream, or before its response. */
async function leave(route: Seeded, fields: object = {}, isStarted = true) {
  const client = new LeavingClient(route.url, request(fields));
  const call = await provider.call(calls++);
  if (isStarted) {
    call.send({ content: "Good" });
    await client.until("Good");
  }
  client.leave();
  await client.ended;
  return call;
}

test.each([
  ["in the middle of a stream", {}, true, 200],
  ["before the first byte of a stream", {}, false, 499],
  ["before a response that is no stream", { stream: false }, false, 499],
])("a client that leaves %s pays what the provider reports", async (_name, fields, isStarted, status) => {
  const route = await seed();
  const call = await leave(route, fields, isStarted);
  await waitUntil(async () => (await draining()) === 1);
  // The place in the limits in flight is kept, and nothing is settled.
  expect(await spent(route)).toBe(0);
  clock.advance(5000);
  if ("stream" in fields) call.respond(100, 7000, 6900);
  else call.end(100, 7000, 6900);
  const tokens = { input: 100, output: 7000, reasoning: 6900, partial: false };
  expect(await recordOf(route)).toMatchObject({ outcome: "client_left", status, drained: true, tokens });
  expect(await spent(route)).toBe(7100);
  expect(await draining()).toBe(0);
  expect(call.isClosed).toBe(false);
});

test("a client that leaves while an event is written to it pays what the provider reports", async () => {
  // The write fails before the connection is reported as closed.
  const beforeWrite = scripted("pre_response", "globalThis.beforeWrite?.()");
  const route = await seed(gatehouse, {}, { required_plugins: [beforeWrite] });
  const { port, pathname } = new URL(route.url);
  const client = await connectRaw(Number(port));
  client.send(rawRequest(pathname, request()));
  const call = await provider.call(calls++);
  call.send({ content: "Good" });
  await client.until((received) => received.includes("Good"));
  Object.assign(globalThis, { beforeWrite: () => client.disconnect(true) });
  call.send({ content: " morning" });
  await client.ended;
  Object.assign(globalThis, { beforeWrite: null });
  await waitUntil(async () => call.isClosed || (await draining()) === 1);
  call.end(100, 7000, 6900);
  expect(await recordOf(route)).toMatchObject({ outcome: "client_left", drained: true });
  expect(await spent(route)).toBe(7100);
});

test("after 30 seconds the provider is stopped, and the tokens are estimated", async () => {
  const route = await seed();
  const call = await leave(route);
  await waitUntil(async () => (await draining()) === 1);
  clock.advance(29_999);
  expect(call.isClosed).toBe(false);
  clock.advance(1);
  await call.closed();
  const tokens = { output: 3000, partial: true };
  expect(await recordOf(route)).toMatchObject({ outcome: "client_left", drained: true, tokens });
  const { body } = await gatehouse.api("GET", `${route.upstream}/health`);
  expect(JSON.stringify(body)).toContain('"healthy"');
  const { body: upstream } = await gatehouse.api("GET", route.upstream);
  expect(await metric("gatehouse_drained_responses_total", `"unsettled"`)).toBe(1);
  expect(upstream.on_cancel).toBe("drain");
});

test("a failed attempt is not repeated for a client that has left", async () => {
  const route = await seed(gatehouse, { max_attempts: 3, timeouts: { first_byte: 2000 } });
  const call = await leave(route, {}, false);
  await waitUntil(async () => (await draining()) === 1);
  await waitUntil(() => {
    clock.advance(500);
    return call.isClosed;
  });
  expect(await recordOf(route)).toMatchObject({ outcome: "client_left", drained: true });
  expect(provider.calls).toHaveLength(calls);
});

test("at most 100 responses are read at a time, and the others are settled at once", async () => {
  const route = await seed();
  const open = [];
  for (let count = 0; count < 100; count++) open.push(await leave(route));
  await waitUntil(async () => (await draining()) === 100);
  const call = await leave(route);
  await call.closed();
  expect(await recordOf(route)).toMatchObject({ outcome: "client_left", drained: false });
  expect(await metric("gatehouse_drained_responses_total", `"refused"`)).toBe(1);
  for (const each of open) each.end(1, 2, 1);
  await waitUntil(async () => (await draining()) === 0);
});

test("without drain, the provider is stopped at once", async () => {
  const route = await seed(gatehouse, { on_cancel: "settle" });
  const call = await leave(route);
  await call.closed();
  expect(await recordOf(route)).toMatchObject({ outcome: "client_left", drained: false });
});

test("explain says what happens if the client leaves", async () => {
  const route = await seed();
  const explained = async () => {
    const path = new URL(route.url).pathname;
    const { body } = await gatehouse.api("POST", `${route.at}/explain`, { method: "POST", path, body: CHAT });
    return body.on_cancel;
  };
  expect(await explained()).toBe("drain");
  await gatehouse.api("PATCH", route.upstream, { on_cancel: "settle" });
  expect(await explained()).toBe("settle");
});

test("a process that stops settles what it still reads", async () => {
  const stopping = await startGatehouseInProcess();
  const route = await seed(stopping);
  const call = await leave(route);
  await waitUntil(async () => {
    const page = await (await fetch(`${stopping.adminUrl}/metrics`)).text();
    return /^gatehouse_draining_responses 1$/m.test(page);
  });
  await stopping.stop();
  await call.closed();
  expect(stopping.output()).toContain('"drained":true');
});
