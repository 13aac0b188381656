// response_cache with a real Redis: nodes share responses, which are compressed and encrypted; a slow or unavailable Redis is a miss.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import {
  startGatehouseProcess,
  temporaryDirectory,
  type GatehouseProcess,
} from "../support/gatehouse-process.ts";
import { CHAT, seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { hasRedis, startRedis, type RedisServer } from "../support/redis.ts";
import { waitUntil } from "../support/waiting.ts";

describe.skipIf(!hasRedis)("response_cache with Redis", () => {
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

  const seed = async (settings: Record<string, unknown> = {}): Promise<SeededRoute> => {
    const plugin = {
      name: "response_cache",
      stage: "pre_request",
      settings: { isolation: "gateway", ...settings },
    };
    const route = await seedRoute(first, {
      gateway: { required_plugins: [plugin] },
      upstream: { targets: [targetAt(provider)] },
    });
    // The rule accepts POST only.
    await waitUntil(async () => (await fetch(second.proxyUrl + route.path)).status === 405);
    return route;
  };

  const send = async (node: GatehouseProcess, route: SeededRoute, body: Record<string, unknown> = {}) => {
    const response = await fetch(node.proxyUrl + route.path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ...CHAT, ...body }),
    });
    return {
      status: response.status,
      cache: response.headers.get("cache-status"),
      text: await response.text(),
    };
  };

  const untilHit = (node: GatehouseProcess, route: SeededRoute, body: Record<string, unknown> = {}) =>
    waitUntil(async () => (await send(node, route, body)).cache?.includes("hit") === true);

  /** Stored after the response: until then, the other node would ask the provider and store another response. */
  const untilStored = (route: SeededRoute) =>
    waitUntil(async () => (await first.api("GET", `/gateways/${route.gateway}/cache`)).body.entries === 1);

  test("a response of one node serves the other; Redis holds nothing that can be read; a purge is for all nodes", async () => {
    const route = await seed();
    provider.behave({ text: "The secret canary sings." });
    const sent = await send(first, route);
    await untilStored(route);
    await untilHit(second, route);
    const hit = await send(second, route, { stream: true });
    expect(hit.text).toContain("The secret canary sings.");
    expect((await send(second, route)).text).toBe(sent.text);
    const keys = ((await redis.command("KEYS", "*:responses:*")) as string[]).filter(
      (key) => !/:(index|sizes|purged)$/.test(key),
    );
    expect(keys.length).toBeGreaterThan(0);
    for (const key of keys) {
      const value = String(await redis.command("GET", key));
      expect(Buffer.from(value, "base64").toString("latin1")).not.toContain("canary");
      expect(Number(await redis.command("PTTL", key))).toBeGreaterThan(0);
    }
    const at = `/gateways/${route.gateway}/cache`;
    expect((await first.api("GET", at)).body).toMatchObject({ store: "redis", entries: 1 });
    expect((await first.api("DELETE", at)).status).toBe(204);
    expect((await send(second, route)).cache).toContain("miss");
    await untilHit(first, route);
  });

  test("a response that was requested before a purge at any node is not kept", async () => {
    const route = await seed();
    provider.behave({ text: "before", delayMs: 300 });
    const earlier = send(second, route);
    await provider.until(() => provider.requests.length === 1);
    expect((await first.api("DELETE", `/gateways/${route.gateway}/cache`)).status).toBe(204);
    expect((await earlier).text).toContain("before");
    provider.behave({ text: "after" });
    // Sent after the earlier response would have been kept, on the same connection to Redis.
    expect(await send(second, route)).toMatchObject({ cache: "gatehouse; fwd=uri-miss" });
    await untilStored(route);
    for (const node of nodes) expect((await send(node, route)).text).toContain("after");
    expect(provider.requests).toHaveLength(2);
  });

  test("max_bytes bounds what a gateway has in Redis: the oldest responses are dropped", async () => {
    const route = await seed({ max_bytes: 65_536 });
    const noise = Array.from({ length: 6000 }, () => Math.random().toString(36).slice(2))
      .join(" ")
      .slice(0, 20_000);
    provider.behave({ text: noise });
    for (let seedValue = 0; seedValue < 6; seedValue++) await send(first, route, { seed: seedValue });
    await untilHit(second, route, { seed: 5 });
    expect((await send(second, route, { seed: 0 })).cache).toContain("miss");
    const { bytes, max_bytes } = (await first.api("GET", `/gateways/${route.gateway}/cache`)).body;
    expect(bytes).toBeLessThanOrEqual(max_bytes);
  });

  test("a client that disconnects during the lookup does not end the call of those that wait", async () => {
    const route = await seed();
    redis.pause();
    try {
      const leaving = new AbortController();
      const left = fetch(first.proxyUrl + route.path, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(CHAT),
        signal: leaving.signal,
      }).catch(() => null);
      // There is one call in whatever order the requests arrive.
      const others = [send(first, route), send(first, route), send(first, route)];
      await fetch(`${first.proxyUrl}/healthz`);
      leaving.abort();
      expect((await Promise.all(others)).map(({ status }) => status)).toEqual([200, 200, 200]);
      await left;
      expect(provider.requests).toHaveLength(1);
    } finally {
      redis.resume();
    }
    await untilHit(first, route);
  });

  test("a value that was changed or moved in Redis is a miss, and so is a slow or unavailable Redis", async () => {
    const route = await seed();
    await send(first, route);
    await untilHit(second, route);
    const [key] = ((await redis.command("KEYS", `*${route.gateway}*:responses:*`)) as string[]).filter(
      (name) => !/:(index|sizes|purged)$/.test(name),
    );
    await send(first, route, { seed: 2 });
    await untilHit(second, route, { seed: 2 });
    const other = ((await redis.command("KEYS", `*${route.gateway}*:responses:*`)) as string[]).find(
      (name) => !/:(index|sizes|purged)$/.test(name) && name !== key,
    );
    await redis.command("COPY", other ?? "", key ?? "", "REPLACE");
    expect((await send(second, route)).cache).toContain("miss");
    redis.pause();
    try {
      expect(await send(second, route, { seed: 2 })).toMatchObject({
        status: 200,
        cache: "gatehouse; fwd=uri-miss",
      });
    } finally {
      redis.resume();
    }
    await untilHit(second, route, { seed: 2 });
    await redis.kill();
    expect(await send(second, route, { seed: 2 })).toMatchObject({
      status: 200,
      cache: "gatehouse; fwd=uri-miss",
    });
    const { status, body } = await first.api("DELETE", `/gateways/${route.gateway}/cache`);
    expect([status, body.code]).toEqual([503, "counters_unavailable"]);
    await redis.start();
    await untilHit(second, route, { seed: 2 });
  });
});
