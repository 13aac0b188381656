// Network failures between the gateway and Redis: every request is decided by its policy, none fails, and limits are exact
// again when the network works.
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import { startFaultProxy, type FaultProxy } from "../support/fault-proxy.ts";
import { startGatehouseProcess, type GatehouseProcess } from "../support/gatehouse-process.ts";
import { countStatuses, limiter, postChat, seedPlugins } from "../support/plugin-fixtures.ts";
import type { SeededRoute } from "../support/proxy-fixtures.ts";
import { hasRedis, startRedis, type RedisServer } from "../support/redis.ts";
import { waitUntil } from "../support/waiting.ts";

setDefaultTimeout(60_000);
const LIMIT = 20;

describe.skipIf(!hasRedis)("between the gateway and Redis", () => {
  let redis: RedisServer;
  let proxy: FaultProxy;
  let provider: FakeProvider;
  let gatehouse: GatehouseProcess;
  let routes: Record<"local" | "open" | "closed", SeededRoute>;

  beforeAll(async () => {
    [redis, provider] = await Promise.all([startRedis(["--appendonly", "no"]), startFakeProvider()]);
    proxy = startFaultProxy({ port: redis.port });
    gatehouse = await startGatehouseProcess({ env: { REDIS_URL: proxy.through(redis.url), WORKERS: "1" } });
    const seed = (on_store_failure: string) =>
      seedPlugins(gatehouse, provider, [limiter({ per_user: [LIMIT, "10m"] }, { on_store_failure })]);
    routes = { local: await seed("local"), open: await seed("open"), closed: await seed("closed") };
  });
  afterAll(async () => {
    await gatehouse.stop();
    await provider.stop();
    proxy.stop();
    await redis.stop();
  });
  afterEach(async () => {
    proxy.heal();
    await untilCounters("ok");
  });

  async function counters(): Promise<string> {
    const body = (await (await fetch(`${gatehouse.proxyUrl}/readyz`)).json()) as {
      counters: { state: string };
    };
    return body.counters.state;
  }
  const untilCounters = (state: string) => waitUntil(async () => (await counters()) === state);

  async function lost(): Promise<number> {
    const text = await (await fetch(`${gatehouse.adminUrl}/metrics`)).text();
    return Number(/^gatehouse_counters_lost_total (\S+)$/m.exec(text)![1]!);
  }

  let users = 0;
  async function statuses(policy: keyof typeof routes, times: number, user = `user ${++users}`) {
    const sent = Array.from({ length: times }, async () => {
      const response = await postChat(gatehouse, routes[policy], { headers: { "X-User-ID": user } });
      await response.arrayBuffer();
      return response.status;
    });
    return countStatuses(await Promise.all(sent));
  }

  /** On a busy machine, Redis may stop responding for a moment. A burst in which it does is repeated. */
  async function expectExact(): Promise<void> {
    for (let tries = 0; tries < 10; tries++) {
      await untilCounters("ok");
      const before = await lost();
      const counted = await statuses("local", 3 * LIMIT);
      if ((await lost()) !== before) continue;
      expect(counted).toEqual({ 200: LIMIT, 429: 2 * LIMIT });
      return;
    }
    throw new Error("Redis stopped responding in every burst");
  }

  const FAILURES: [name: string, begin: () => void][] = [
    ["connections refused", () => proxy.refuse()],
    ["no replies", () => proxy.set({ toClient: { stallAfterBytes: 0 } })],
    ["every reply truncated", () => proxy.set({ toClient: { cutAfterBytes: 2 } })],
    ["reset after every command", () => proxy.set({ toServer: { resetAfterBytes: 1 } })],
    ["one byte per second", () => proxy.set({ toClient: { bytesPerSecond: 1 } })],
  ];

  test.each(FAILURES)(
    "%s: every policy is applied, no request fails, and limits are exact afterwards",
    async (_, begin) => {
      await expectExact();
      begin();
      // The first requests after the failure are decided as well.
      const first = await statuses("open", 10);
      expect(first).toEqual({ 200: 10 });
      await untilCounters("away");
      expect(await statuses("local", 3 * LIMIT)).toEqual({ 200: LIMIT, 429: 2 * LIMIT });
      expect(await statuses("open", 3 * LIMIT)).toEqual({ 200: 3 * LIMIT });
      expect(await statuses("closed", 10)).toEqual({ 503: 10 });
      proxy.heal();
      await expectExact();
    },
  );

  test("a connection that a firewall has dropped is replaced", async () => {
    for (let times = 0; times < 3; times++) {
      const before = await lost();
      proxy.strand();
      await waitUntil(async () => {
        expect(await statuses("open", 1)).toEqual({ 200: 1 });
        return (await lost()) > before;
      });
      await expectExact();
    }
  });
});
