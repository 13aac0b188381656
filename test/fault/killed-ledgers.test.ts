// Gateways that are killed in the middle of requests: what the provider received is charged, and at most the reservations that were open in
// addition. For ledgers in memory with SQLite and PostgreSQL, and for Redis.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { create } from "../support/admin-fixtures.ts";
import type { RunningGatehouse } from "../support/gatehouse-process.ts";
import { runs } from "../support/long-form.ts";
import { hasPostgres } from "../support/postgres.ts";
import { CHAT, seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { hasRedis } from "../support/redis.ts";
import { postAtOnce, startSharedNodes, type SharedNodes } from "../support/shared-nodes.ts";
import { randomPause, waitUntil } from "../support/waiting.ts";

/** With Redis, each takes as long as a lease. */
const KILLS = { memory: runs({ short: 3, long: 15 }), redis: runs({ short: 1, long: 4 }) };
const START_MS = 120_000;
/** Leases last 30 s. */
const EXPIRY_MS = 35_000;
const CENT = 0.01;

describe.each([
  { where: "in memory with SQLite", setup: { nodes: 1, redis: false, postgres: false } },
  { where: "in memory with PostgreSQL", setup: { nodes: 1, redis: false, postgres: true } },
  { where: "in Redis", setup: { nodes: 1, redis: true, postgres: true } },
])("a ledger $where", ({ setup }) => {
  const isMissing = (setup.redis && !hasRedis) || (setup.postgres && !hasPostgres);
  describe.skipIf(isMissing)("whose process is killed", () => {
    const kills = setup.redis ? KILLS.redis : KILLS.memory;
    let shared: SharedNodes;
    beforeAll(async () => {
      shared = await startSharedNodes(setup);
    }, START_MS);
    afterAll(() => shared.stop());
    beforeEach(() => shared.provider.reset());

    const node = (): RunningGatehouse => shared.nodes[0]!;

    /** Kills the node and starts another one with its data. */
    async function restart(): Promise<void> {
      const [killed] = shared.nodes;
      killed!.signal("SIGKILL");
      await killed!.exited;
      shared.nodes[0] = await shared.startNode({ dataDir: killed!.dataDir });
    }

    async function seed(amount: string): Promise<{ route: SeededRoute; state: string }> {
      const route = await seedRoute(node(), {
        gateway: { prices: [{ model: "gpt-fake", per_request: "0.01" }] },
        upstream: { targets: [targetAt(shared.provider)], max_attempts: 1 },
      });
      const path = `/gateways/${route.gateway}/budgets`;
      const { id } = await create(node(), path, { name: "team", unit: "usd", amount });
      return { route, state: `${path}/${id}/state` };
    }

    const centsIn = async (state: string) => {
      const { body } = await node().api("GET", state);
      return [body.spent, body.reserved].map((dollars) => Math.round(Number(dollars) / CENT)) as [
        number,
        number,
      ];
    };

    async function settled(state: string): Promise<number> {
      await waitUntil(async () => (await centsIn(state))[1] === 0, EXPIRY_MS);
      return (await centsIn(state))[0];
    }

    test(
      "has charged what the provider received, and at most the open reservations in addition",
      async () => {
        const { route, state } = await seed("1000");
        let open = 0;
        for (let kill = 0; kill < kills; kill++) {
          shared.provider.behave(() => ({ delayMs: Math.random() * 200 }));
          const before = shared.provider.requestCount;
          const senders = Array.from({ length: 20 }, async () => {
            for (let sent = 0; sent < 20; sent++) await postAtOnce([node()], route.path, CHAT, 1);
          });
          await waitUntil(() => shared.provider.requestCount > before + 30);
          await randomPause(700);
          // Each of the senders has one request.
          open += senders.length;
          const restarted = restart();
          await Promise.all([restarted, ...senders]);
          const received = shared.provider.requestCount;
          const spent = await settled(state);
          expect(spent).toBeWithin(received, received + open + 1);
        }
      },
      START_MS + kills * (EXPIRY_MS + 10_000),
    );

    test(
      "does not admit more than the budget afterwards",
      async () => {
        const { route, state } = await seed("1.00");
        shared.provider.behave({ delayMs: 20 });
        const first = postAtOnce([node()], route.path, CHAT, 60);
        await waitUntil(() => shared.provider.requestCount >= 40);
        await restart();
        await first;
        await postAtOnce([node()], route.path, CHAT, 200);
        expect(shared.provider.requestCount).toBeWithin(60, 101);
        expect(await settled(state)).toBe(100);
      },
      START_MS + EXPIRY_MS,
    );
  });
});
