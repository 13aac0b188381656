// Three nodes on a Redis Cluster of three masters: limits and budgets are exact, and gateways are spread over the masters.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import type { FakeProvider } from "../../src/fake-provider/server.ts";
import { slotOf } from "../../src/redis/cluster-slots.ts";
import { create } from "../support/admin-fixtures.ts";
import { temporaryDirectory, type GatehouseProcess } from "../support/gatehouse-process.ts";
import { limiter } from "../support/plugin-fixtures.ts";
import { CHAT, seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { hasRedisCluster, startRedisCluster, type RedisCluster } from "../support/redis-cluster.ts";
import { startSharedNodes, type SharedNodes } from "../support/shared-nodes.ts";
import { waitUntil } from "../support/waiting.ts";

const START_MS = 60_000;
const MAX_GATEWAYS = 40;

interface Seeded {
  readonly route: SeededRoute;
  readonly state: string;
}

describe.skipIf(!hasRedisCluster)("three nodes on Redis Cluster", () => {
  let cluster: RedisCluster;
  let shared: SharedNodes;
  let nodes: readonly GatehouseProcess[] = [];
  let provider: FakeProvider;
  const folder = temporaryDirectory();

  beforeAll(async () => {
    cluster = await startRedisCluster();
    const env = {
      REDIS_URL: cluster.url,
      REDIS_SILENT_MS: "2000",
      DATABASE_URL: `sqlite://${join(folder, "shared.db")}`,
    };
    shared = await startSharedNodes({ nodes: 3, redis: false, postgres: false, env });
    ({ nodes, provider } = shared);
  }, START_MS);
  afterAll(async () => {
    await shared.stop();
    await cluster.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** A gateway with a budget of $0.20, at $0.01 per request. */
  async function seed(plugins: readonly unknown[]): Promise<Seeded> {
    const [first] = nodes;
    const route = await seedRoute(first!, {
      gateway: { prices: [{ model: "gpt-fake", per_request: "0.01" }], required_plugins: plugins },
      upstream: { targets: [targetAt(provider)] },
    });
    const budgets = `/gateways/${route.gateway}/budgets`;
    const { id } = await create(first!, budgets, { name: "team", unit: "usd", amount: "0.20" });
    return { route, state: `${budgets}/${id}/state` };
  }

  /** Sends 15 requests to each node at the same time. Resolves to the sorted statuses. */
  async function burst({ route, state }: Seeded, during: () => Promise<void> = () => Promise.resolve()) {
    await waitUntil(async () => {
      const found = await Promise.all(nodes.map((node) => node.api("GET", state)));
      return found.every(({ status }) => status === 200);
    });
    const send = async (node: GatehouseProcess) => {
      const init = {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(CHAT),
      };
      const response = await fetch(node.proxyUrl + route.path, init);
      await response.bytes();
      return response.status;
    };
    const sent = nodes.flatMap((node) => Array.from({ length: 15 }, () => send(node)));
    await during();
    return (await Promise.all(sent)).sort();
  }

  /** Seeds gateways until each master has one. */
  async function seedAllMasters(plugins: readonly unknown[]): Promise<Seeded[]> {
    const seeded = new Map<number, Seeded>();
    for (let at = 0; at < MAX_GATEWAYS && seeded.size < 3; at++) {
      const next = await seed(plugins);
      seeded.set(Math.floor((3 * slotOf(next.route.gateway)) / 16_384), next);
    }
    return [...seeded.values()];
  }

  test(
    "budgets and rate limits are exact, on every master",
    async () => {
      const cases = [
        { plugins: [], admitted: 20 },
        { plugins: [limiter({ global: [10, "1m"] })], admitted: 10 },
      ];
      for (const { plugins, admitted } of cases) {
        const seeded = await seedAllMasters(plugins);
        expect(seeded).toHaveLength(3);
        const masters = new Set<number>();
        for (const one of seeded) {
          const statuses = await burst(one);
          expect(statuses.filter((status) => status === 200)).toHaveLength(admitted);
          const master = await cluster.masterOf(`{${one.route.gateway}}`);
          expect(await master.command("KEYS", `*{${one.route.gateway}}*`)).not.toEqual([]);
          masters.add(master.port);
        }
        expect(masters.size).toBe(3);
      }
    },
    START_MS,
  );

  test(
    "a slot that moves during a burst never admits too many",
    async () => {
      const seeded = await seed([]);
      const tag = `{${seeded.route.gateway}}`;
      const from = await cluster.masterOf(tag);
      const to = cluster.masters.find((master) => master !== from) ?? from;
      const before = provider.requests.length;
      await burst(seeded, async () => cluster.moveSlot(await cluster.slotOf(tag), to, undefined, 1));
      await burst(seeded);
      expect(provider.requests.length - before).toBe(20);
      // Settlements that the move interrupted are repeated.
      const amounts = async () => (await nodes[1]!.api("GET", seeded.state)).body as Record<string, unknown>;
      await waitUntil(async () => (await amounts())["reserved"] === "0.00");
      expect(await amounts()).toMatchObject({ spent: "0.20" });
    },
    START_MS,
  );

  test(
    "a master that stops is reported by /readyz, and affects only its own gateways",
    async () => {
      const [first, second] = await seedAllMasters([]);
      const stopped = await cluster.masterOf(`{${first!.route.gateway}}`);
      for (const one of [first!, second!])
        expect((await burst(one)).filter((status) => status === 200)).toHaveLength(20);
      const ledgerOf = async () =>
        (
          (await (await fetch(`${nodes[0]!.adminUrl}/readyz`)).json()) as {
            ledger: { state: string; detail?: string };
          }
        ).ledger;
      expect(await ledgerOf()).toEqual({ state: "ok" });
      stopped.pause();
      try {
        // The first request finds out that this master does not reply.
        await waitUntil(async () => (await nodes[0]!.api("GET", first!.state)).status === 503);
        await waitUntil(async () => (await ledgerOf()).state === "away");
        expect((await ledgerOf()).detail).toContain(String(stopped.port));
        expect((await nodes[0]!.api("GET", second!.state)).status).toBe(200);
      } finally {
        stopped.resume();
      }
      await waitUntil(async () => (await ledgerOf()).state === "ok");
      await waitUntil(async () => (await nodes[0]!.api("GET", first!.state)).body["spent"] === "0.20");
    },
    START_MS,
  );
});
