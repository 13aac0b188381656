// Gateways that are killed after requests: GET usage has all requests that had finished, once.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { GatehouseProcess } from "../support/gatehouse-process.ts";
import { runs } from "../support/long-form.ts";
import { hasPostgres } from "../support/postgres.ts";
import { CHAT, seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { hasRedis } from "../support/redis.ts";
import { postAtOnce, startSharedNodes, untilAllFollow, type SharedNodes } from "../support/shared-nodes.ts";
import { randomPause, waitUntil } from "../support/waiting.ts";

const KILLS = runs({ short: 3, long: 20 });
const START_MS = 120_000;
const AT_ONCE = 20;

describe.each([
  { where: "with SQLite", setup: { nodes: 1, redis: false, postgres: false } },
  { where: "with two workers", setup: { nodes: 1, redis: false, postgres: false, env: { WORKERS: "2" } } },
  { where: "with Redis, of two nodes", setup: { nodes: 2, redis: true, postgres: true } },
])("a gateway $where", ({ setup }) => {
  const isMissing = (setup.redis && !hasRedis) || (setup.postgres && !hasPostgres);
  describe.skipIf(isMissing)("that is killed", () => {
    let shared: SharedNodes;
    beforeAll(async () => {
      shared = await startSharedNodes({ ...setup, prefix: ["setsid"] });
    }, START_MS);
    afterAll(() => shared.stop());
    beforeEach(() => shared.provider.reset());

    const last = (): GatehouseProcess => shared.nodes.at(-1)!;

    /** Kills the process group of the last node, and starts another one with its data. */
    async function restart(): Promise<void> {
      const killed = last();
      process.kill(-killed.pid, "SIGKILL");
      await killed.exited;
      shared.nodes[shared.nodes.length - 1] = await shared.startNode({ dataDir: killed.dataDir });
    }

    async function seed(): Promise<SeededRoute> {
      const route = await seedRoute(last(), {
        gateway: { prices: [{ model: "gpt-fake", per_request: "0.01" }] },
        upstream: { targets: [targetAt(shared.provider)], max_attempts: 1 },
      });
      await untilAllFollow(shared.nodes);
      return route;
    }

    async function usageOf({ gateway }: SeededRoute) {
      const { body } = await last().api("GET", `/gateways/${gateway}/usage`);
      const { requests, cost } = body.total as { requests: number; cost: string | number };
      return { requests, cents: Math.round(Number(cost) * 100) };
    }

    test(
      "counts the requests that had finished",
      async () => {
        const route = await seed();
        let finished = 0;
        for (let kill = 0; kill < KILLS; kill++) {
          for (let times = 0; times < 10; times++)
            finished += (await postAtOnce([last()], route.path, CHAT, AT_ONCE))[200] ?? 0;
          await restart();
          expect(await usageOf(route)).toEqual({ requests: finished, cents: finished });
        }
        expect(finished).toBeGreaterThan(0);
      },
      START_MS,
    );

    test(
      "in the middle of requests counts at least those that had finished, and none that was not received",
      async () => {
        const route = await seed();
        let finished = 0;
        for (let kill = 0; kill < KILLS; kill++) {
          shared.provider.behave(() => ({ delayMs: Math.random() * 30 }));
          const before = finished;
          let isKilled = false;
          const send = async () => {
            while (!isKilled) {
              const { 200: succeeded = 0 } = await postAtOnce([last()], route.path, CHAT, 1);
              finished += succeeded;
            }
          };
          const senders = Array.from({ length: AT_ONCE }, send);
          await waitUntil(() => finished > before + AT_ONCE);
          await randomPause(1200);
          isKilled = true;
          await Promise.all([restart(), ...senders]);
          const { requests, cents } = await usageOf(route);
          expect(cents).toBe(requests);
          expect(requests).toBeWithin(finished, shared.provider.requestCount + 1);
        }
      },
      START_MS,
    );

    test(
      "leaves no files",
      async () => {
        const route = await seed();
        await postAtOnce([last()], route.path, CHAT, AT_ONCE);
        await restart();
        await waitUntil(() => readdirSync(join(last().dataDir, "usage")).length === 0);
      },
      START_MS,
    );
  });
});
