// Three nodes that share PostgreSQL and Redis behind HAProxy. They are restarted one after the other under load without a
// failed request or an interrupted stream, and every write soon takes effect on all of them.
// GATEHOUSE_RESTARTS and GATEHOUSE_WRITES set the length of the test; GATEHOUSE_REPORT prints measurements.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import { startGatehouseProcess, type GatehouseProcess } from "../support/gatehouse-process.ts";
import { whileConnected } from "../support/exact-counters.ts";
import { startLoad } from "../support/load.ts";
import { hasHaproxy, startHaproxy, type CheckingBalancer } from "../support/load-balancers.ts";
import { countStatuses, limiter } from "../support/plugin-fixtures.ts";
import { hasPostgres, sharedPostgres } from "../support/postgres.ts";
import { CHAT, seedKey, seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { hasRedis, startRedis, type RedisServer } from "../support/redis.ts";
import { untilAllFollow } from "../support/shared-nodes.ts";
import { waitUntil } from "../support/waiting.ts";
import { freePort } from "../support/free-port.ts";

const RESTARTS = Number(process.env["GATEHOUSE_RESTARTS"] ?? 3);
const WRITES = Number(process.env["GATEHOUSE_WRITES"] ?? 20);
const START_MS = 60_000;
const report = (line: string) => {
  if (process.env["GATEHOUSE_REPORT"] !== undefined) process.stdout.write(`${line}\n`);
};

describe.skipIf(!hasPostgres || !hasRedis || !hasHaproxy)("three nodes behind HAProxy", () => {
  let redis: RedisServer;
  let provider: FakeProvider;
  let balancer: CheckingBalancer;
  let databaseUrl = "";
  const nodes: GatehouseProcess[] = [];

  const startNode = (ports: { admin: number; proxy: number }) =>
    startGatehouseProcess({
      env: {
        DATABASE_URL: databaseUrl,
        REDIS_URL: redis.url,
        WORKERS: "1",
        ADMIN_PORT: String(ports.admin),
        PROXY_PORT: String(ports.proxy),
        DRAIN_DELAY_MS: "3000",
      },
    });

  beforeAll(async () => {
    const postgres = await sharedPostgres();
    [redis, provider, databaseUrl] = await Promise.all([
      startRedis(),
      startFakeProvider({ record: false }),
      postgres.createDatabase(),
    ]);
    for (let node = 0; node < 3; node++)
      nodes.push(await startNode({ admin: freePort(), proxy: freePort() }));
    balancer = await startHaproxy(nodes.map(({ proxyUrl }) => Number(new URL(proxyUrl).port)));
  }, START_MS);
  afterAll(async () => {
    await balancer.stop();
    await Promise.all(nodes.map((node) => node.stop()));
    await provider.stop();
    await redis.stop();
  });

  const portsOf = ({ adminUrl, proxyUrl }: GatehouseProcess) => ({
    admin: Number(new URL(adminUrl).port),
    proxy: Number(new URL(proxyUrl).port),
  });

  /** Sends chats and returns a function that ends them and resolves to the failures. Every third client streams, for longer than the drain delay. */
  function startChats({ path }: SeededRoute, clients: number): () => Promise<string[]> {
    const problems: string[] = [];
    let done = 0;
    const chat = async (stream: boolean) => {
      const fake = stream ? { chunks: 8, chunkDelayMs: 100 } : {};
      const response = await fetch(`${balancer.url}${path}`, {
        method: "POST",
        headers: { "Content-Type": "application/json", "x-fake": JSON.stringify(fake) },
        body: JSON.stringify({ ...CHAT, stream }),
      });
      const text = await response.text();
      const isWhole = stream ? text.endsWith("data: [DONE]\n\n") : text.endsWith("}");
      if (response.status !== 200 || !isWhole) problems.push(`${response.status} ${text.slice(-200)}`);
      done++;
    };
    const endLoad = startLoad(clients, (client) =>
      chat(client % 3 === 0).catch((error: unknown) => problems.push(String(error))),
    );
    return async () => {
      await endLoad();
      report(`${done} chats, ${problems.length} failed`);
      expect(done).toBeGreaterThan(clients);
      return problems;
    };
  }

  test(
    "restarting the nodes one after the other under load fails no request and interrupts no stream",
    async () => {
      const route = await seedRoute(nodes[0]!, { upstream: { targets: [targetAt(provider)] } });
      await untilAllFollow(nodes);
      const endChats = startChats(route, 12);
      for (let restart = 0; restart < RESTARTS; restart++) {
        const node = nodes[restart % nodes.length]!;
        node.signal("SIGTERM");
        expect(await node.exited).toBe(0);
        nodes[restart % nodes.length] = await startNode(portsOf(node));
        await waitUntil(async () => (await balancer.healthyPorts()).length === nodes.length);
      }
      expect(await endChats()).toEqual([]);
    },
    START_MS + RESTARTS * 20_000,
  );

  test(
    "a write on one node soon takes effect on all of them, and so does a revocation",
    async () => {
      const route = await seedRoute(nodes[0]!, {
        gateway: { require_api_key: true },
        upstream: { targets: [targetAt(provider)] },
      });
      const statusOn = async (node: GatehouseProcess, key: string) => {
        const response = await fetch(`${node.proxyUrl}${route.path}`, {
          method: "POST",
          headers: { "Content-Type": "application/json", "X-GW-API-Key": key },
          body: JSON.stringify(CHAT),
        });
        await response.arrayBuffer();
        return response.status;
      };
      const delays: number[] = [];
      const untilEverywhere = async (key: string, status: number) => {
        const startedAt = performance.now();
        await Promise.all(nodes.map((node) => waitUntil(async () => (await statusOn(node, key)) === status)));
        delays.push(performance.now() - startedAt);
      };
      for (let write = 0; write < WRITES / 2; write++) {
        const { id, key } = await seedKey(nodes[write % 3]!, route.gateway);
        await untilEverywhere(key, 200);
        expect((await nodes[(write + 1) % 3]!.api("DELETE", `/iam/api-keys/${id}`)).status).toBe(204);
        await untilEverywhere(key, 401);
      }
      delays.sort((a, b) => a - b);
      const at = (share: number) => delays[Math.ceil(delays.length * share) - 1]!.toFixed(1);
      report(
        `${delays.length} writes active on all nodes: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${at(1)} ms`,
      );
    },
    START_MS + WRITES * 1000,
  );

  test(
    "the rate limiter is exact over the three nodes",
    async () => {
      const statuses = await whileConnected(nodes, async () => {
        const route = await seedRoute(nodes[0]!, {
          gateway: { required_plugins: [limiter({ global: [100, "1h"] })] },
          upstream: { targets: [targetAt(provider)] },
        });
        await untilAllFollow(nodes);
        const chat = async () => {
          const response = await fetch(`${balancer.url}${route.path}`, {
            method: "POST",
            headers: { "Content-Type": "application/json" },
            body: JSON.stringify(CHAT),
          });
          await response.arrayBuffer();
          return response.status;
        };
        return Promise.all(Array.from({ length: 400 }, chat));
      });
      expect(countStatuses(statuses)).toEqual({ "200": 100, "429": 300 });
    },
    START_MS,
  );
});
