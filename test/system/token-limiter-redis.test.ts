// token_limiter with a real Redis: two processes share the limits, on_store_failure, and rejections before the body has arrived.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import { untilCounters } from "../support/exact-counters.ts";
import {
  startGatehouseProcess,
  temporaryDirectory,
  type GatehouseProcess,
} from "../support/gatehouse-process.ts";
import type { Fields } from "../support/plugin-fixtures.ts";
import { CHAT, seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { connectRaw } from "../support/raw-client.ts";
import { hasRedis, startRedis, type RedisServer } from "../support/redis.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";

describe.skipIf(!hasRedis)("token_limiter with Redis", () => {
  let redis: RedisServer;
  let provider: FakeProvider;
  let nodes: GatehouseProcess[] = [];
  let first: GatehouseProcess;
  let second: GatehouseProcess;

  beforeAll(async () => {
    [redis, provider] = await Promise.all([startRedis(["--appendonly", "no"]), startFakeProvider()]);
    const env = {
      REDIS_URL: redis.url,
      REDIS_SILENT_MS: "500",
      WORKERS: "1",
      DATABASE_URL: `sqlite://${temporaryDirectory()}/shared.db`,
    };
    first = await startGatehouseProcess({ env });
    second = await startGatehouseProcess({ env });
    nodes = [first, second];
  }, 60_000);
  afterAll(async () => {
    await Promise.all(nodes.map((node) => node.stop()));
    await provider.stop();
    await redis.stop();
  });
  beforeEach(() => provider.reset());

  const seed = async (limit: Fields, settings: Fields = {}): Promise<SeededRoute> => {
    const plugin = {
      name: "token_limiter",
      stage: "pre_request",
      settings: { limits: { global: { window: "1h", ...limit } }, ...settings },
    };
    const route = await seedRoute(first, {
      gateway: { required_plugins: [plugin] },
      upstream: { targets: [targetAt(provider)] },
    });
    // The rule accepts POST only.
    await waitUntil(async () => (await fetch(second.proxyUrl + route.path)).status === 405);
    return route;
  };

  const send = async (node: GatehouseProcess, route: SeededRoute, body: Fields = {}) => {
    const response = await fetch(node.proxyUrl + route.path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ...CHAT, ...body }),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };

  /** Sends a request without most of its body. Resolves to the head of the response, or null if there is none soon. */
  const sendHead = async (node: GatehouseProcess, { path }: SeededRoute): Promise<string | null> => {
    const client = await connectRaw(Number(new URL(node.proxyUrl).port));
    client.send(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`,
    );
    const never = waitFor(() => null, 2000).catch(() => null);
    const head = await Promise.race([
      client.until((text) => text.includes("\r\n\r\n")).catch(() => null),
      never,
    ]);
    client.disconnect();
    return head;
  };

  test("exactly limit / amount of 400 requests to two processes reach the provider", async () => {
    provider.behave({ usage: { input: 1, output: 10 } });
    const route = await seed({ limit: 500, count: "output" });
    const statuses = new Map<number, number>();
    const worker = async (node: GatehouseProcess) => {
      for (let sent = 0; sent < 20; sent++) {
        const { status } = await send(node, route, { max_tokens: 10 });
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: 20 }, (_, at) => worker(nodes[at % 2] ?? first)));
    expect(Object.fromEntries(statuses)).toEqual({ 200: 50, 429: 350 });
    expect(provider.requests).toHaveLength(50);
  });

  test("a process that knows a full limit rejects before the body has arrived, and counts nothing", async () => {
    provider.behave({ usage: { input: 1, output: 10 } });
    const route = await seed({ limit: 10, count: "output" });
    expect((await send(first, route, { max_tokens: 10 })).status).toBe(200);
    // What Redis has reported is known for a second, so that a busy machine may need another attempt.
    const status = await waitFor(async () => {
      const { headers } = await send(first, route, { max_tokens: 10 });
      // Until the first request is settled, its tokens are only reserved.
      return Number(headers.get("retry-after")) > 60 ? await sendHead(first, route) : null;
    });
    expect(status).toStartWith("HTTP/1.1 429 ");
    expect(status.toLowerCase()).toContain("retry-after:");
    expect(provider.requests).toHaveLength(1);
  });

  test("while Redis is unavailable, a budget that is enforced rejects by default, and one that warns does not", async () => {
    const budgets: [Fields, number][] = [
      [{}, 503],
      [{ mode: "warn" }, 200],
      [{ on_store_failure: "open" }, 200],
      [{ on_store_failure: "local" }, 200],
      [{ mode: "warn", on_store_failure: "closed" }, 503],
    ];
    const routes: SeededRoute[] = [];
    for (const [fields] of budgets) {
      const route = await seed({ limit: 1_000_000 });
      const budget = { name: "team", unit: "tokens", amount: 10_000, ...fields };
      const { status } = await first.api("POST", `/gateways/${route.gateway}/budgets`, budget);
      expect(status).toBe(201);
      routes.push(route);
    }
    await redis.kill();
    await untilCounters(first, "away");
    const statuses: number[] = [];
    for (const route of routes) statuses.push((await send(first, route)).status);
    expect(statuses).toEqual(budgets.map(([, status]) => status));
    await redis.start();
    await Promise.all(nodes.map((node) => untilCounters(node, "ok")));
  });

  test("while Redis is unavailable, closed is 503, open admits, and local counts per process", async () => {
    provider.behave({ usage: { input: 1, output: 10 } });
    const limit = { limit: 10, count: "output" };
    const routes = new Map<string, SeededRoute>();
    for (const policy of ["closed", "open", "local"])
      routes.set(policy, await seed(limit, { on_store_failure: policy }));
    await redis.kill();
    await Promise.all(nodes.map((node) => untilCounters(node, "away")));
    const statusesOf = async (policy: string) => {
      const statuses: number[] = [];
      for (const node of [first, first, second]) {
        const route = routes.get(policy);
        if (route !== undefined) statuses.push((await send(node, route, { max_tokens: 10 })).status);
      }
      return statuses;
    };
    expect(await statusesOf("closed")).toEqual([503, 503, 503]);
    expect(await statusesOf("open")).toEqual([200, 200, 200]);
    expect(await statusesOf("local")).toEqual([200, 429, 200]);
    await redis.start();
    await Promise.all(nodes.map((node) => untilCounters(node, "ok")));
    // What was admitted without Redis is charged.
    await waitUntil(async () => (await send(first, routes.get("open")!, { max_tokens: 10 })).status === 429);
    expect(await statusesOf("closed")).toEqual([200, 429, 429]);
  });
});
