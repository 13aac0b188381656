// Tests of rate_limiter with a real Redis (section 7 of the contract): exact counts across three processes that also share a
// database, and behavior while Redis is killed, paused or unavailable.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import {
  startGatehouseProcess,
  temporaryDirectory,
  untilPrinted,
  type ApiResponse,
  type GatehouseProcess,
} from "../support/gatehouse-process.ts";
import { startLoad } from "../support/load.ts";
import { untilCounters, whileConnected } from "../support/exact-counters.ts";
import {
  countStatuses,
  limiter,
  logRecords,
  postChat,
  seedPlugins,
  type Fields,
} from "../support/plugin-fixtures.ts";
import { readMetrics } from "../support/prometheus-text.ts";
import { CHAT, rawJson, type SeededRoute } from "../support/proxy-fixtures.ts";
import { hasRedis, startRedis, type RedisServer } from "../support/redis.ts";
import { isBlocked } from "../support/rate-limiter-fixtures.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";

const START_MS = 60_000;

describe.skipIf(!hasRedis)("rate_limiter with Redis", () => {
  let redis: RedisServer;
  let provider: FakeProvider;
  let database: string;
  let nodes: GatehouseProcess[] = [];

  beforeAll(async () => {
    database = temporaryDirectory();
    [redis, provider] = await Promise.all([startRedis(), startFakeProvider()]);
    const env = {
      REDIS_URL: redis.url,
      // On a busy machine Redis itself may not run for longer than the default of 16 ms, and limits would apply per process.
      REDIS_SILENT_MS: "500",
      WORKERS: "1",
      DATABASE_URL: `sqlite://${join(database, "shared.db")}`,
    };
    nodes = [await startGatehouseProcess({ env })];
    nodes.push(...(await Promise.all([startGatehouseProcess({ env }), startGatehouseProcess({ env })])));
  }, START_MS);
  afterAll(async () => {
    await Promise.all(nodes.map((node) => node.stop()));
    await provider.stop();
    await redis.stop();
    rmSync(database, { recursive: true, force: true });
  });
  beforeEach(() => provider.reset());
  // Every test starts with Redis running and every process connected to it.
  afterEach(async () => {
    redis.resume();
    if ((await redis.command("PING").catch(() => null)) !== "PONG") await redis.start();
    await Promise.all(nodes.map((node) => untilCounters(node, "ok")));
  });

  async function readiness(node: GatehouseProcess): Promise<ApiResponse["body"]> {
    const response = await fetch(`${node.proxyUrl}/readyz`);
    expect(response.status).toBe(200);
    return response.json();
  }

  /** Creates a route through the first process and waits until every process has it. */
  async function seedEverywhere(
    limits: Parameters<typeof limiter>[0],
    settings: Fields = {},
  ): Promise<SeededRoute> {
    const route = await seedPlugins(nodes[0]!, provider, [limiter(limits, settings)]);
    await untilAllFollow(nodes[0]!);
    return route;
  }

  /** Waits until the configuration of this process is active in every process. */
  async function untilAllFollow(leader: GatehouseProcess): Promise<void> {
    const { revision } = await readiness(leader);
    for (const node of nodes) await waitUntil(async () => (await readiness(node)).revision >= revision);
  }

  async function statusOf(node: GatehouseProcess, route: SeededRoute, user = "ann"): Promise<number> {
    const response = await postChat(node, route, { headers: { "X-User-ID": user } });
    await response.text();
    return response.status;
  }

  const statusesOf = (node: GatehouseProcess, route: SeededRoute, times: number, user = "ann") =>
    Promise.all(Array.from({ length: times }, () => statusOf(node, route, user)));

  /** Sends this many concurrent requests to each process. */
  const everywhere = async (route: SeededRoute, times: number, user: string): Promise<number[]> =>
    (await Promise.all(nodes.map((node) => statusesOf(node, route, times, user)))).flat();

  test("/readyz reports the state of the counters", async () => {
    for (const node of nodes) expect((await readiness(node)).counters).toEqual({ state: "ok" });
  });

  test("a metric and a log message report that Redis is unavailable and available again", async () => {
    const [node] = nodes as [GatehouseProcess];
    const metric = async (name: string) => {
      const text = await (await fetch(`${node.adminUrl}/metrics`)).text();
      return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
    };
    const lost = await metric("gatehouse_counters_lost_total");
    expect(await metric("gatehouse_counters_up")).toBe(1);
    redis.pause();
    const route = await seedPlugins(node, provider, [limiter({ global: [9, "1m"] })]);
    expect(await statusOf(node, route)).toBe(200);
    await untilCounters(node, "away");
    expect(await metric("gatehouse_counters_up")).toBe(0);
    expect(await metric("gatehouse_counters_lost_total")).toBeGreaterThan(lost);
    await untilPrinted(node, "shared counters unavailable");
    redis.resume();
    await untilCounters(node, "ok");
    expect(await metric("gatehouse_counters_up")).toBe(1);
  });

  test("an outage of Redis is counted and logged once, also if its symptom changes", async () => {
    const own = await startRedis();
    const env = { REDIS_URL: own.url, WORKERS: "1" };
    const node = await startGatehouseProcess({ env });
    try {
      const route = await seedPlugins(node, provider, [limiter({ global: [9, "1m"] })]);
      own.pause();
      await statusOf(node, route);
      const details = new Set<string>();
      const collectDetails = async () => {
        const { state, detail } = (await readiness(node)).counters;
        if (state === "away") details.add(detail);
        return details.size;
      };
      await waitUntil(async () => (await collectDetails()) > 0);
      await own.kill();
      await waitUntil(async () => (await collectDetails()) > 1);
      const page = readMetrics(await (await fetch(`${node.adminUrl}/metrics`)).text());
      expect(page.value("gatehouse_counters_lost_total")).toBe(1);
      // Log lines are written in batches.
      await waitUntil(() => node.output().includes("shared counters unavailable"));
      expect(node.output().split("shared counters unavailable")).toHaveLength(2);
    } finally {
      await Promise.all([node.stop(), own.stop()]);
    }
  });

  test("1,000 concurrent requests across three processes against a limit of 100: exactly 100 pass", async () => {
    const { route, statuses } = await whileConnected(nodes, async () => {
      const route = await seedEverywhere({ per_user: [100, "1m"], global: [900, "1m"] });
      provider.reset();
      const requests = Array.from({ length: 1000 }, (_, index) => statusOf(nodes[index % 3]!, route));
      return { route, statuses: await Promise.all(requests) };
    });
    expect(countStatuses(statuses)).toEqual({ "200": 100, "429": 900 });
    expect(provider.requestCount).toBe(100);
    // Rejected requests were not counted: the global limit is used up by exactly the hundred admitted ones and this one.
    const next = await rawJson(nodes[1]!.proxyUrl, route.path, CHAT, [["X-User-ID", "bob"]]);
    expect(next.header("X-RateLimit-global-Remaining")).toBe("799");
    expect(next.header("X-RateLimit-per_user-Remaining")).toBe("99");
    expect(Number(next.header("X-RateLimit-global-Reset")) - Date.now() / 1000).toBeWithin(1, 62);
  }, 60_000);

  test("all processes share one count in one sliding window", async () => {
    const route = await seedEverywhere({ per_user: [2, "1h"] });
    const { admitted, rejected } = await whileConnected(nodes, async (attempt) => {
      const user = `user ${attempt}`;
      const admitted = [await statusOf(nodes[0]!, route, user), await statusOf(nodes[1]!, route, user)];
      return { admitted, rejected: await postChat(nodes[2]!, route, { headers: { "X-User-ID": user } }) };
    });
    expect([...admitted, rejected.status]).toEqual([200, 200, 429]);
    expect(await rejected.json()).toMatchObject({
      error: "per_user rate limit exceeded",
      code: "rate_limit_exceeded",
    });
    expect(Number(rejected.headers.get("retry-after"))).toBeWithin(3000, 3601);
    const short = await seedEverywhere({ per_user: [1, "1s"] });
    expect(await statusOf(nodes[0]!, short)).toBe(200);
    await waitUntil(async () => (await statusOf(nodes[2]!, short)) === 200);
  });

  test("a block, and its removal together with its count, takes effect in every process within a second", async () => {
    const route = await seedEverywhere({ per_user: [1, "1h"] }, { actions: { type: "block" } });
    const blocks = `/gateways/${route.gateway}/blocks`;
    const ann = { "X-User-ID": "ann" };
    const [first, second, third] = nodes as [GatehouseProcess, GatehouseProcess, GatehouseProcess];
    expect(await statusOf(first, route)).toBe(200);
    expect(await statusOf(first, route)).toBe(403);
    const listed = await waitFor(async () => {
      const { body } = await third.api("GET", blocks);
      return body.count === 1 ? (body.blocks as { id: string; type: string }[]) : null;
    });
    expect(listed).toMatchObject([{ type: "per_user" }]);
    // The count alone would reject the requests as well. Without it, only the block can.
    await redis.command("FLUSHALL");
    for (const node of nodes) await waitUntil(() => isBlocked(node, route, ann));
    for (const node of nodes) expect(await statusOf(node, route)).toBe(403);
    expect((await second.api("DELETE", `${blocks}/${listed[0]!.id}`)).status).toBe(204);
    for (const node of nodes) await waitUntil(async () => !(await isBlocked(node, route, ann)));
    expect(await statusOf(third, route)).toBe(200);
    expect(await statusOf(first, route)).toBe(403);
  });

  const POLICIES = [
    // Statuses of six requests while Redis is unavailable, with a limit of four that has counted one request already.
    ["local", [200, 200, 200, 429, 429, 429], null],
    ["open", [200, 200, 200, 200, 200, 200], null],
    ["closed", [503, 503, 503, 503, 503, 503], "counters_unavailable"],
  ] as const;

  describe.each(["killed", "paused"] as const)("Redis %s", (how) => {
    const stopRedis = () => (how === "killed" ? redis.kill() : redis.pause());
    const restoreRedis = () => (how === "killed" ? redis.start() : redis.resume());

    test("each on_store_failure policy applies quickly, and counting is exact again after Redis returns", async () => {
      const [node] = nodes as [GatehouseProcess];
      const { routes, counted } = await whileConnected(nodes, async () => {
        const routes = new Map<string, SeededRoute>();
        for (const [policy] of POLICIES)
          routes.set(policy, await seedEverywhere({ per_user: [4, "1h"] }, { on_store_failure: policy }));
        const counted: number[] = [];
        for (const route of routes.values()) counted.push(await statusOf(node, route));
        return { routes, counted };
      });
      expect(counted).toEqual([200, 200, 200]);
      const linesBefore = logRecords(node).length;
      await stopRedis();
      // An uncounted request, so that the gateway has noticed the failure before the measured requests.
      await statusOf(node, routes.get("open")!, "uncounted");
      await untilCounters(node, "away");
      for (const [policy, statuses, code] of POLICIES) {
        const route = routes.get(policy)!;
        for (const status of statuses) {
          const response = await postChat(node, route, { headers: { "X-User-ID": "ann" } });
          const body: ApiResponse["body"] = await response.json();
          expect([policy, response.status]).toEqual([policy, status]);
          if (code !== null) {
            expect(body).toMatchObject({ code, request_id: response.headers.get("x-request-id") });
            expect(response.headers.has("retry-after")).toBe(true);
          }
          expect(response.headers.get("x-ratelimit-per_user-limit")).toBe("4");
        }
      }
      expect((await readiness(node)).counters.detail).toContain(String(redis.port));
      const untilLogged = (message: string) =>
        waitUntil(() =>
          logRecords(node)
            .slice(linesBefore)
            .some((line) => line.msg === message),
        );
      await untilLogged("shared counters unavailable");
      await restoreRedis();
      await Promise.all(nodes.map((each) => untilCounters(each, "ok")));
      await untilLogged("shared counters available");
      for (const [policy, route] of routes) {
        const statuses = await whileConnected(nodes, (attempt) => everywhere(route, 10, `new ${attempt}`));
        expect([policy, countStatuses(statuses)]).toEqual([policy, { "200": 4, "429": 26 }]);
      }
    }, 60_000);

    test("under load no request fails or is lost, and the limits are exact after Redis returns", async () => {
      const route = await seedEverywhere({ per_user: [50, "1h"] }, { on_store_failure: "local" });
      const statuses: number[] = [];
      const endLoad = startLoad(9, async (caller, round) => {
        const node = nodes[caller % nodes.length]!;
        statuses.push(await statusOf(node, route, `user ${round % 40}`));
      });
      /** Until requests have been decided in the current state. */
      const untilMoreLoad = async () => {
        const before = statuses.length;
        await waitUntil(() => statuses.length > before + 100);
      };
      await untilMoreLoad();
      await stopRedis();
      await Promise.all(nodes.map((node) => untilCounters(node, "away")));
      await untilMoreLoad();
      await restoreRedis();
      await Promise.all(nodes.map((node) => untilCounters(node, "ok")));
      await endLoad();
      expect(Object.keys(countStatuses(statuses)).filter((status) => status !== "429")).toEqual(["200"]);
      const after = await whileConnected(nodes, (attempt) => everywhere(route, 40, `fresh ${attempt}`));
      expect(countStatuses(after)).toEqual({ "200": 50, "429": 70 });
    }, 60_000);
  });

  test("a block stays active while Redis is unavailable, and its removal clears the count when Redis returns", async () => {
    const route = await seedEverywhere(
      { per_user: [1, "1h"] },
      { actions: { type: "block" }, on_store_failure: "open" },
    );
    const [node] = nodes as [GatehouseProcess];
    const blocks = `/gateways/${route.gateway}/blocks`;
    expect(await statusesOf(node, route, 1)).toEqual([200]);
    expect(await statusOf(node, route)).toBe(403);
    await waitUntil(async () => (await node.api("GET", blocks)).body.count === 1);
    await redis.kill();
    await untilCounters(node, "away");
    expect(await statusOf(node, route)).toBe(403);
    expect((await node.api("DELETE", blocks)).status).toBe(204);
    expect(await statusOf(node, route)).toBe(200);
    await redis.start();
    await untilCounters(node, "ok");
    const statuses = await whileConnected(nodes, async (attempt) => {
      const user = attempt === 1 ? "ann" : `ann ${attempt}`;
      return [await statusOf(node, route, user), await statusOf(node, route, user)];
    });
    expect(statuses).toEqual([200, 403]);
  }, 60_000);

  test(
    "REDIS_SILENT_MS sets how long to wait for a slow Redis",
    async () => {
      const node = await startGatehouseProcess({
        env: { REDIS_URL: redis.url, REDIS_SILENT_MS: "4000", WORKERS: "1" },
      });
      try {
        const route = await seedPlugins(node, provider, [
          limiter({ global: [1, "1m"] }, { on_store_failure: "closed" }),
        ]);
        redis.pause();
        const first = statusOf(node, route);
        // Another process with the default setting gives up on Redis meanwhile.
        const other = await seedEverywhere({ global: [1, "1m"] }, { on_store_failure: "open" });
        expect(await statusOf(nodes[0]!, other)).toBe(200);
        await untilCounters(nodes[0]!, "away");
        redis.resume();
        expect([await first, await statusOf(node, route)]).toEqual([200, 429]);
      } finally {
        await node.stop();
      }
    },
    START_MS,
  );

  test(
    "a process that starts without Redis serves requests, reports the state, and connects later",
    async () => {
      const away = await startRedis();
      await away.kill();
      const node = await startGatehouseProcess({ env: { REDIS_URL: away.url, WORKERS: "1" } });
      try {
        expect((await readiness(node)).counters).toMatchObject({
          state: "away",
          detail: expect.stringContaining(String(away.port)),
        });
        const closed = await seedPlugins(node, provider, [
          limiter({ global: [9, "1m"] }, { on_store_failure: "closed" }),
        ]);
        const local = await seedPlugins(node, provider, [limiter({ global: [1, "1m"] })]);
        expect(await statusOf(node, closed)).toBe(503);
        expect([await statusOf(node, local), await statusOf(node, local)]).toEqual([200, 429]);
        await away.start();
        await untilCounters(node, "ok");
        expect(await statusOf(node, closed)).toBe(200);
      } finally {
        await node.stop();
        await away.stop();
      }
    },
    START_MS,
  );
});
