// What clients and operators see of budgets when the process does not know what is spent in Redis.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import { create } from "../support/admin-fixtures.ts";
import { startGatehouseProcess, type GatehouseProcess } from "../support/gatehouse-process.ts";
import { CHAT, seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { connectRaw } from "../support/raw-client.ts";
import { hasRedis, startRedis, type RedisServer } from "../support/redis.ts";
import { openRealtime, useRealtimeProvider } from "../support/realtime-provider.ts";
import { waitUntil } from "../support/waiting.ts";

const START_MS = 60_000;

const realtime = useRealtimeProvider();

describe.skipIf(!hasRedis)("with Redis", () => {
  let redis: RedisServer;
  let provider: FakeProvider;
  let node: GatehouseProcess;

  beforeAll(async () => {
    [redis, provider] = await Promise.all([startRedis(), startFakeProvider()]);
    // On a busy machine Redis itself may not run for longer than the default.
    node = await startGatehouseProcess({
      env: { REDIS_URL: redis.url, REDIS_SILENT_MS: "1000", WORKERS: "1" },
    });
  }, START_MS);
  afterAll(async () => {
    await node.stop();
    await Promise.all([redis.stop(), provider.stop()]);
  });

  /** A route at $0.01 per request, with two budgets. */
  async function seedBudgets(amounts: Record<string, string>): Promise<SeededRoute> {
    const route = await seedRoute(node, {
      gateway: { prices: [{ model: "gpt-fake", per_request: "0.01" }] },
      upstream: { targets: [targetAt(provider)] },
    });
    for (const [name, amount] of Object.entries(amounts))
      await create(node, `/gateways/${route.gateway}/budgets`, { name, unit: "usd", amount });
    return route;
  }

  /** Resolves to the header section of the response to a request whose body does not arrive. */
  async function sendHead({ path }: SeededRoute): Promise<string> {
    const client = await connectRaw(Number(new URL(node.proxyUrl).port));
    client.send(
      `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n`,
    );
    const received = await client.until((text) => text.includes("\r\n\r\n"));
    client.disconnect();
    return received.toLowerCase();
  }

  async function send(
    { path }: SeededRoute,
    fields: object = {},
  ): Promise<{ status: number; remaining: string | null }> {
    const response = await fetch(node.proxyUrl + path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ...CHAT, ...fields }),
    });
    await response.bytes();
    return { status: response.status, remaining: response.headers.get("x-gw-budget-remaining") };
  }

  const ratios = async () =>
    (await (await fetch(`${node.adminUrl}/metrics`)).text())
      .split("\n")
      .filter((line) => line.startsWith("gatehouse_budget_used_ratio"))
      .map((line) => line.replace(/.*budget="([^"]*)".* /, "$1 "))
      .sort();

  test("a rejection before the body has arrived shows only what is known to remain", async () => {
    const route = await seedBudgets({ large: "1.00", small: "0.02" });
    const statuses = [await send(route), await send(route), await send(route)].map(({ status }) => status);
    expect(statuses).toEqual([200, 200, 402]);
    const early = await sendHead(route);
    expect(early).toStartWith("http/1.1 402 ");
    expect(early).toContain("x-gw-budget-remaining: small=0.00\r\n");
  });

  test.each([
    ["rate_limiter", 2, ""],
    ["token_limiter", 40, "_tokens"],
  ])("nor does that of a %s show more", async (name, limit, suffix) => {
    const limits = { global: { limit: 10_000, window: "1h" }, per_ip: { limit, window: "1h" } };
    const plugin = { name, stage: "pre_request", settings: { limits, actions: { type: "reject" } } };
    const route = await seedRoute(node, {
      gateway: { required_plugins: [plugin] },
      upstream: { targets: [targetAt(provider)] },
    });
    provider.behave({ usage: { input: 0, output: limit } });
    await waitUntil(async () => (await send(route, { max_tokens: 1 })).status === 429);
    provider.reset();
    const early = await sendHead(route);
    expect(early).toStartWith("http/1.1 429 ");
    expect(early).toContain(`x-ratelimit-per_ip${suffix}-remaining: 0\r\n`);
    expect(early).not.toContain("x-ratelimit-global");
  });

  test("all responses of a WebSocket that is closed because Redis is unavailable are charged later", async () => {
    const route = await seedRoute(node, {
      upstream: { targets: [{ provider: "openai", base_url: realtime.url }] },
      rule: { path: "/away/realtime", methods: ["GET"] },
    });
    const budgets = `/gateways/${route.gateway}/budgets`;
    const { id } = await create(node, budgets, { name: "tokens", unit: "tokens", amount: 100_000 });
    const client = await openRealtime(`${node.proxyUrl}${route.path}?model=gpt-rt`);
    const socket = await realtime.socket();
    await redis.kill();
    for (const output_tokens of [30, 40]) {
      const usage = { total_tokens: output_tokens, input_tokens: 0, output_tokens };
      socket.send(JSON.stringify({ type: "response.done", response: { status: "completed", usage } }));
    }
    expect(await client.closed).toMatchObject({ code: 1013 });
    await redis.start();
    const state = async () => (await node.api("GET", `${budgets}/${id}/state`)).body;
    await waitUntil(async () => (await state()).spent === 70);
    expect(await state()).toMatchObject({ spent: 70, reserved: 0 });
  });

  test("neither header nor metric invents amounts while Redis is unavailable", async () => {
    const route = await seedBudgets({ closed: "1.00", also: "2.00" });
    const { gateway } = route;
    expect(await send(route)).toEqual({ status: 200, remaining: "closed=0.99, also=1.99" });
    await waitUntil(async () => (await ratios()).includes("closed 0.01"));
    const before = await ratios();
    redis.pause();
    try {
      expect(await send(route)).toEqual({ status: 503, remaining: null });
      expect(await ratios()).toEqual(before);
      const { budgets } = (await node.api("GET", `/gateways/${gateway}/budgets`)).body;
      for (const [at, policy] of ["open", "local"].entries())
        await node.api("PATCH", `/gateways/${gateway}/budgets/${budgets[at].id}`, {
          on_store_failure: policy,
        });
      // What this process has admitted itself is known.
      expect(await send(route)).toEqual({ status: 200, remaining: "also=1.98" });
      expect((await ratios()).find((line) => line.startsWith("closed"))).toBe("closed 0.01");
    } finally {
      redis.resume();
    }
  });
});
