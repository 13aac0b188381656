// rate_limiter on three processes while their Redis is killed, paused or unavailable (section 7 of the contract).
import { describe, expect, test } from "bun:test";
import { untilCounters, whileConnected } from "../support/exact-counters.ts";
import { startGatehouseProcess, untilPrinted, type ApiResponse } from "../support/gatehouse-process.ts";
import { startLoad } from "../support/load.ts";
import { countStatuses, limiter, logRecords, postChat, seedPlugins } from "../support/plugin-fixtures.ts";
import { readMetrics } from "../support/prometheus-text.ts";
import type { SeededRoute } from "../support/proxy-fixtures.ts";
import { readiness, statusesOf, statusOf, useRateLimitedNodes } from "../support/rate-limited-nodes.ts";
import { hasRedis, startRedis } from "../support/redis.ts";
import { waitUntil } from "../support/waiting.ts";

const START_MS = 60_000;

describe.skipIf(!hasRedis)("rate_limiter with Redis", () => {
  const shared = useRateLimitedNodes();

  test("a metric and a log message report that Redis is unavailable and available again", async () => {
    const [node] = shared.nodes;
    const metric = async (name: string) => {
      const text = await (await fetch(`${node.adminUrl}/metrics`)).text();
      return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
    };
    const lost = await metric("gatehouse_counters_lost_total");
    expect(await metric("gatehouse_counters_up")).toBe(1);
    shared.redis.pause();
    const route = await seedPlugins(node, shared.provider, [limiter({ global: [9, "1m"] })]);
    expect(await statusOf(node, route)).toBe(200);
    await untilCounters(node, "away");
    expect(await metric("gatehouse_counters_up")).toBe(0);
    expect(await metric("gatehouse_counters_lost_total")).toBeGreaterThan(lost);
    await untilPrinted(node, "shared counters unavailable");
    shared.redis.resume();
    await untilCounters(node, "ok");
    expect(await metric("gatehouse_counters_up")).toBe(1);
  });

  test("an outage of Redis is counted and logged once, also if its symptom changes", async () => {
    const own = await startRedis();
    const env = { REDIS_URL: own.url, WORKERS: "1" };
    const node = await startGatehouseProcess({ env });
    try {
      const route = await seedPlugins(node, shared.provider, [limiter({ global: [9, "1m"] })]);
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

  const POLICIES = [
    // Statuses of six requests while Redis is unavailable, with a limit of four that has counted one request already.
    ["local", [200, 200, 200, 429, 429, 429], null],
    ["open", [200, 200, 200, 200, 200, 200], null],
    ["closed", [503, 503, 503, 503, 503, 503], "counters_unavailable"],
  ] as const;

  describe.each(["killed", "paused"] as const)("Redis %s", (how) => {
    const stopRedis = () => (how === "killed" ? shared.redis.kill() : shared.redis.pause());
    const restoreRedis = () => (how === "killed" ? shared.redis.start() : shared.redis.resume());

    test("each on_store_failure policy applies quickly, and counting is exact again after Redis returns", async () => {
      const [node] = shared.nodes;
      const { routes, counted } = await whileConnected(shared.nodes, async () => {
        const routes = new Map<string, SeededRoute>();
        for (const [policy] of POLICIES)
          routes.set(
            policy,
            await shared.seedEverywhere({ per_user: [4, "1h"] }, { on_store_failure: policy }),
          );
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
      expect((await readiness(node)).counters.detail).toContain(String(shared.redis.port));
      const untilLogged = (message: string) =>
        waitUntil(() =>
          logRecords(node)
            .slice(linesBefore)
            .some((line) => line.msg === message),
        );
      await untilLogged("shared counters unavailable");
      await restoreRedis();
      await Promise.all(shared.nodes.map((each) => untilCounters(each, "ok")));
      await untilLogged("shared counters available");
      for (const [policy, route] of routes) {
        const statuses = await whileConnected(shared.nodes, (attempt) =>
          shared.everywhere(route, 10, `new ${attempt}`),
        );
        expect([policy, countStatuses(statuses)]).toEqual([policy, { "200": 4, "429": 26 }]);
      }
    }, 60_000);

    test("under load no request fails or is lost, and the limits are exact after Redis returns", async () => {
      const route = await shared.seedEverywhere({ per_user: [50, "1h"] }, { on_store_failure: "local" });
      const statuses: number[] = [];
      const endLoad = startLoad(9, async (caller, round) => {
        const node = shared.nodes[caller % shared.nodes.length]!;
        statuses.push(await statusOf(node, route, `user ${round % 40}`));
      });
      /** Until requests have been decided in the current state. */
      const untilMoreLoad = async () => {
        const before = statuses.length;
        await waitUntil(() => statuses.length > before + 100);
      };
      await untilMoreLoad();
      await stopRedis();
      await Promise.all(shared.nodes.map((node) => untilCounters(node, "away")));
      await untilMoreLoad();
      await restoreRedis();
      await Promise.all(shared.nodes.map((node) => untilCounters(node, "ok")));
      await endLoad();
      expect(Object.keys(countStatuses(statuses)).filter((status) => status !== "429")).toEqual(["200"]);
      const after = await whileConnected(shared.nodes, (attempt) =>
        shared.everywhere(route, 40, `fresh ${attempt}`),
      );
      expect(countStatuses(after)).toEqual({ "200": 50, "429": 70 });
    }, 60_000);
  });

  test("a block stays active while Redis is unavailable, and its removal clears the count when Redis returns", async () => {
    const route = await shared.seedEverywhere(
      { per_user: [2, "1h"] },
      { actions: { type: "block" }, on_store_failure: "open" },
    );
    const [node] = shared.nodes;
    const blocks = `/gateways/${route.gateway}/blocks`;
    expect(await statusesOf(node, route, 2)).toEqual([200, 200]);
    expect(await statusOf(node, route)).toBe(403);
    await waitUntil(async () => (await node.api("GET", blocks)).body.count === 1);
    await shared.redis.kill();
    await untilCounters(node, "away");
    expect(await statusOf(node, route)).toBe(403);
    expect((await node.api("DELETE", blocks)).status).toBe(204);
    // It counts when Redis returns.
    expect(await statusOf(node, route)).toBe(200);
    await shared.redis.start();
    await untilCounters(node, "ok");
    const statuses = await whileConnected(shared.nodes, async (attempt) => {
      const user = attempt === 1 ? "ann" : `ann ${attempt}`;
      if (attempt > 1) await statusOf(node, route, user);
      return [await statusOf(node, route, user), await statusOf(node, route, user)];
    });
    expect(statuses).toEqual([200, 403]);
  }, 60_000);

  test(
    "REDIS_SILENT_MS sets how long to wait for a slow Redis",
    async () => {
      const node = await startGatehouseProcess({
        env: { ...shared.database, REDIS_URL: shared.redis.url, REDIS_SILENT_MS: "4000", WORKERS: "1" },
      });
      try {
        const route = await seedPlugins(node, shared.provider, [
          limiter({ global: [1, "1m"] }, { on_store_failure: "closed" }),
        ]);
        shared.redis.pause();
        const first = statusOf(node, route);
        // Another process with the default setting gives up on Redis meanwhile.
        const other = await shared.seedEverywhere({ global: [1, "1m"] }, { on_store_failure: "open" });
        expect(await statusOf(shared.nodes[0], other)).toBe(200);
        await untilCounters(shared.nodes[0], "away");
        shared.redis.resume();
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
        const closed = await seedPlugins(node, shared.provider, [
          limiter({ global: [9, "1m"] }, { on_store_failure: "closed" }),
        ]);
        const local = await seedPlugins(node, shared.provider, [limiter({ global: [1, "1m"] })]);
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
