// The network between the gateway and Redis in trouble: every request is decided as the policy says, none fails, and
// the limits are exact again once it is well.
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import { startFaultProxy, type FaultProxy } from "../support/fault-proxy.ts";
import { startGatehouseProcess, waitFor, type GatehouseProcess } from "../support/gatehouse-process.ts";
import { countStatuses, limiter, postChat, seedPlugins } from "../support/plugin-fixtures.ts";
import type { SeededRoute } from "../support/proxy-fixtures.ts";
import { hasRedis, startRedis, type RedisServer } from "../support/redis.ts";

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
  const untilCounters = (state: string) => waitFor(async () => ((await counters()) === state ? true : null));

  async function lost(): Promise<number> {
    const text = await (await fetch(`${gatehouse.adminUrl}/metrics`)).text();
    return Number(/^gatehouse_counters_lost_total (\S+)$/m.exec(text)![1]!);
  }

  let users = 0;
  async function statuses(policy: keyof typeof routes, times: number, user = `user ${++users}`) {
    const asked = Array.from({ length: times }, async () => {
      const response = await postChat(gatehouse, routes[policy], { headers: { "X-User-ID": user } });
      await response.arrayBuffer();
      return response.status;
    });
    return countStatuses(await Promise.all(asked));
  }

  /** A busy machine can make Redis silent for a moment: a burst in which it was is no measure, and is repeated. */
  async function expectExact(): Promise<void> {
    for (let tries = 0; tries < 10; tries++) {
      await untilCounters("ok");
      const before = await lost();
      const counted = await statuses("local", 3 * LIMIT);
      if ((await lost()) !== before) continue;
      expect(counted).toEqual({ 200: LIMIT, 429: 2 * LIMIT });
      return;
    }
    throw new Error("Redis was silent in every burst");
  }

  const FAULTS: [name: string, begin: () => void][] = [
    ["connections refused", () => proxy.refuse()],
    ["silence", () => proxy.set({ toClient: { stallAfterBytes: 0 } })],
    ["cut in the middle of every answer", () => proxy.set({ toClient: { cutAfterBytes: 2 } })],
    ["reset at every command", () => proxy.set({ toServer: { resetAfterBytes: 1 } })],
    ["a byte a second", () => proxy.set({ toClient: { bytesPerSecond: 1 } })],
  ];

  test.each(FAULTS)("%s: each policy as written, no request lost, exact afterwards", async (_, begin) => {
    await expectExact();
    begin();
    // The first to find out are decided as well.
    const first = await statuses("open", 10);
    expect(first).toEqual({ 200: 10 });
    await untilCounters("away");
    expect(await statuses("local", 3 * LIMIT)).toEqual({ 200: LIMIT, 429: 2 * LIMIT });
    expect(await statuses("open", 3 * LIMIT)).toEqual({ 200: 3 * LIMIT });
    expect(await statuses("closed", 10)).toEqual({ 503: 10 });
    proxy.heal();
    await expectExact();
  });

  test("a connection that a firewall has forgotten is given up for a new one", async () => {
    for (let times = 0; times < 3; times++) {
      const before = await lost();
      proxy.strand();
      await waitFor(async () => {
        expect(await statuses("open", 1)).toEqual({ 200: 1 });
        return (await lost()) > before ? true : null;
      });
      await expectExact();
    }
  });
});
