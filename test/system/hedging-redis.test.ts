// Hedged requests whose limits and budgets are in Redis: what both attempts used is settled, nothing stays reserved, and a hedge that cannot be
// reserved is not sent.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import { create } from "../support/admin-fixtures.ts";
import { CHAT_REQUEST } from "../support/balancing-fixtures.ts";
import { startGatehouseProcess, type GatehouseProcess } from "../support/gatehouse-process.ts";
import { seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { hasRedis, startRedis, type RedisServer } from "../support/redis.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";

describe.skipIf(!hasRedis)("with Redis as ledger", () => {
  let redis: RedisServer;
  let gatehouse: GatehouseProcess;
  let one: FakeProvider;
  let two: FakeProvider;

  beforeAll(async () => {
    const start = (name: string) => startFakeProvider({ name });
    [redis, one, two] = await Promise.all([startRedis(["--appendonly", "no"]), start("one"), start("two")]);
    // On a busy machine Redis may be silent for longer than the default.
    const env = { REDIS_URL: redis.url, REDIS_SILENT_MS: "4000", WORKERS: "1" };
    gatehouse = await startGatehouseProcess({ env });
  }, 60_000);
  afterAll(async () => {
    await gatehouse.stop();
    await Promise.all([one.stop(), two.stop(), redis.stop()]);
  });
  beforeEach(() => {
    one.reset();
    two.reset();
  });

  const limiter = {
    name: "token_limiter",
    stage: "pre_request",
    settings: { limits: { global: { limit: 100_000, window: "1h" } } },
  };
  const seed = (plugins: readonly object[] = []) =>
    seedRoute(gatehouse, {
      gateway: {
        prices: [{ model: "gpt-fake", per_request: "0.01" }],
        required_plugins: [limiter, ...plugins],
      },
      upstream: {
        targets: [
          targetAt(one, { provider: "one", path: "/v1/chat/completions" }),
          targetAt(two, { provider: "two", path: "/v1/chat/completions", priority: 2 }),
        ],
        hedge: { after: 40, budget: 1 },
      },
    });

  const addBudget = async ({ gateway }: SeededRoute, amount: string) => {
    const fields = { name: "all", unit: "usd", amount, period: "total", scope: "gateway" };
    return `/gateways/${gateway}/budgets/${(await create(gatehouse, `/gateways/${gateway}/budgets`, fields)).id}`;
  };
  const spentOf = (budget: string) =>
    waitFor(async () => {
      const { spent, reserved } = (await gatehouse.api("GET", `${budget}/state`)).body;
      return Number(reserved) === 0 ? Number(spent) : null;
    });

  async function send({ path }: SeededRoute, signal: AbortSignal | null = null) {
    const response = await fetch(gatehouse.proxyUrl + path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ...CHAT_REQUEST, max_tokens: 100 }),
      signal,
    });
    await response.text();
    const remaining = Number(response.headers.get("x-ratelimit-global_tokens-remaining"));
    return { status: response.status, hedged: response.headers.get("x-gw-hedged"), remaining };
  }

  test("both attempts are settled, whichever wins, and if the client leaves", async () => {
    const route = await seed();
    const budget = await addBudget(route, "100");
    one.behave({ delayMs: 60_000 });
    expect(await send(route)).toMatchObject({ status: 200, hedged: "won" });
    one.behave({ delayMs: 300 });
    two.behave({ delayMs: 60_000 });
    expect(await send(route)).toMatchObject({ status: 200, hedged: "lost" });
    one.behave({ delayMs: 60_000 });
    const leaving = new AbortController();
    const calls = two.requestCount;
    const left = send(route, leaving.signal).catch(() => null);
    await two.until(() => two.requestCount > calls);
    leaving.abort();
    await left;
    const charged = (one.requestCount + two.requestCount) * 0.01;
    expect(one.requestCount + two.requestCount).toBe(6);
    expect(await spentOf(budget)).toBe(charged);
    one.behave({});
    two.behave({});
    // Six attempts of about ten tokens are settled, and this request has reserved about a hundred.
    const { remaining } = await send(route);
    expect(remaining).toBeWithin(99_650, 99_901);
  });

  test("a token limit in shadow mode counts both attempts, too", async () => {
    const route = await seed([{ ...limiter, mode: "shadow" }]);
    one.behave({ delayMs: 60_000 });
    expect(await send(route)).toMatchObject({ status: 200, hedged: "won" });
    const header = "({struct.unpack('>dddddddd', redis.call('LINDEX', KEYS[1], 0))})";
    const totals = async () => {
      const keys = (await redis.command("KEYS", `gatehouse:{${route.gateway}}:sliding:*`)) as string[];
      const read = (key: string) => redis.command("EVAL", `return ${header}[2]`, "1", key);
      return Promise.all(keys.map(read));
    };
    await waitUntil(async () => {
      const [limit, shadow] = await totals();
      return Number(limit) > 0 && limit === shadow;
    });
  });

  test("a hedge that does not fit into a budget is not sent", async () => {
    const route = await seed();
    const budget = await addBudget(route, "0.01");
    one.behave({ delayMs: 300 });
    expect(await send(route)).toMatchObject({ status: 200, hedged: null });
    expect(two.requestCount).toBe(0);
    expect(await spentOf(budget)).toBe(0.01);
  });

  test("while Redis is unavailable, a request is served by its first target", async () => {
    const route = await seed();
    await addBudget(route, "100");
    one.behave(() => {
      redis.pause();
      return { delayMs: 500 };
    });
    try {
      // The ledger waits for Redis for 4 s. The response of the first target does not.
      const sent = send(route, AbortSignal.timeout(3000));
      await one.until(() => one.requests[0] !== undefined);
      expect(await sent).toMatchObject({ status: 200, hedged: null });
      expect(two.requestCount).toBe(0);
    } finally {
      redis.resume();
    }
  });
});
