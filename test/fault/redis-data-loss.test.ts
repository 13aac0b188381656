// Redis loses data in the middle of a load: budgets over three nodes with PostgreSQL are exceeded by no more than what was settled in the
// last second and is open, and in the end have spent exactly what the provider received. `GATEHOUSE_LONG=1` sends ten times as many requests.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { create } from "../support/admin-fixtures.ts";
import { startFaultProxy, type FaultProxy } from "../support/fault-proxy.ts";
import { runs } from "../support/long-form.ts";
import { hasPostgres } from "../support/postgres.ts";
import { readMetrics } from "../support/prometheus-text.ts";
import { CHAT, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { hasRedis, startRedis, type RedisServer } from "../support/redis.ts";
import { startSharedNodes, untilAllFollow, type SharedNodes } from "../support/shared-nodes.ts";
import { waitUntil } from "../support/waiting.ts";

const START_MS = 120_000;
const ALLOWED = runs({ short: 500, long: 5000 });
const SENDERS = 24;
const EXPIRY_MS = 60_000;

/** Redis at an address that stays the same, and how it loses data: `prepare` is called early in the load, `lose` later. */
interface Losing {
  readonly url: string;
  prepare(): Promise<void>;
  lose(): Promise<void>;
  /** The one that is at the address now. */
  current(): RedisServer;
  stop(): Promise<void>;
}

async function flushed(): Promise<Losing> {
  const redis = await startRedis();
  return {
    url: redis.url,
    prepare: () => Promise.resolve(),
    async lose() {
      await redis.command("FLUSHALL");
    },
    current: () => redis,
    stop: () => redis.stop(),
  };
}

/** Without the file to which every write is appended. */
const IN_MEMORY = ["--appendonly", "no"];

async function restored(): Promise<Losing> {
  const redis = await startRedis(IN_MEMORY);
  return {
    url: redis.url,
    async prepare() {
      await redis.command("SAVE");
    },
    async lose() {
      await redis.kill();
      await redis.start();
    },
    current: () => redis,
    stop: () => redis.stop(),
  };
}

async function promoted(): Promise<Losing> {
  const [master, replica] = await Promise.all([startRedis(IN_MEMORY), startRedis(IN_MEMORY)]);
  const replication = startFaultProxy({ port: master.port });
  let current: RedisServer = master;
  const address: FaultProxy = startFaultProxy({
    get port() {
      return current.port;
    },
  });
  await replica.command("REPLICAOF", "127.0.0.1", String(replication.port));
  await waitUntil(async () =>
    String(await replica.command("INFO", "replication")).includes("master_link_status:up"),
  );
  return {
    url: address.through(master.url),
    prepare() {
      replication.set({ toClient: { stallAfterBytes: 0 } });
      return Promise.resolve();
    },
    async lose() {
      await master.kill();
      await replica.command("REPLICAOF", "NO", "ONE");
      current = replica;
      address.dropAll();
    },
    current: () => current,
    async stop() {
      address.stop();
      replication.stop();
      await Promise.all([master.stop(), replica.stop()]);
    },
  };
}

describe.skipIf(!hasPostgres || !hasRedis).each([
  ["FLUSHALL", flushed],
  ["a replica that is promoted with old data", promoted],
  ["a restart from an old file", restored],
] as const)("%s", (name, start) => {
  let losing: Losing;
  let shared: SharedNodes;
  beforeAll(async () => {
    losing = await start();
    const env = { REDIS_URL: losing.url, REDIS_SILENT_MS: "2000", REDIS_CLOSED_MS: "10000" };
    shared = await startSharedNodes({ nodes: 3, redis: false, postgres: true, env, record: false });
  }, START_MS);
  afterAll(async () => {
    await shared.stop();
    await losing.stop();
  });

  const first = () => shared.nodes[0]!;

  /** The sum over all nodes. */
  async function metric(name: string): Promise<number> {
    const pages = await Promise.all(
      shared.nodes.map(async ({ adminUrl }) => (await fetch(`${adminUrl}/metrics`)).text()),
    );
    return pages.reduce((sum, page) => sum + (readMetrics(page).value(name) ?? 0), 0);
  }

  test(
    "opens no budget again, and loses or repeats no amount",
    async () => {
      const { provider, nodes } = shared;
      const route = await seedRoute(first(), {
        gateway: { prices: [{ model: "gpt-fake", per_request: "0.01" }] },
        upstream: { targets: [targetAt(provider)], max_attempts: 1 },
      });
      const budgets = `/gateways/${route.gateway}/budgets`;
      const fields = { name: "team", unit: "usd", amount: String(ALLOWED / 100) };
      const { id } = await create(first(), budgets, fields);
      await untilAllFollow(nodes);
      const receivedAt: number[] = [];
      provider.behave(() => {
        receivedAt.push(performance.now());
        return { delayMs: 150 };
      });
      let refused = 0;
      const send = async (url: string) => {
        const response = await fetch(url + route.path, {
          method: "POST",
          headers: { "Content-Type": "application/json" },
          body: JSON.stringify({ ...CHAT, max_tokens: 3 }),
        });
        await response.bytes();
        if (response.status === 402) refused++;
        return response.status;
      };
      const sender = async (at: number) => {
        while (refused < 3 * SENDERS) await send(nodes[at % nodes.length]!.proxyUrl);
      };
      const senders = Array.from({ length: SENDERS }, (_, at) => sender(at));
      await waitUntil(() => receivedAt.length > ALLOWED * 0.3, EXPIRY_MS);
      await losing.prepare();
      await waitUntil(() => receivedAt.length > ALLOWED * 0.7, EXPIRY_MS);
      const lostAt = performance.now();
      await losing.lose();
      await Promise.all(senders);
      const lastSecond = receivedAt.filter((at) => at > lostAt - 1000 && at < lostAt).length;
      const received = receivedAt.length;
      expect(received).toBeLessThanOrEqual(ALLOWED + lastSecond + SENDERS);
      const state = async () => (await first().api("GET", `${budgets}/${id}/state`)).body;
      await waitUntil(async () => Number((await state()).reserved) === 0, EXPIRY_MS);
      expect(Math.round(Number((await state()).spent) * 100)).toBe(received);
      expect(await metric("gatehouse_redis_data_losses_total")).toBeGreaterThan(0);
      expect(nodes.some((node) => node.output().includes("Redis lost data of limits and budgets"))).toBe(
        true,
      );
      // The database has it all, and nothing more.
      await losing.current().command("FLUSHALL");
      await waitUntil(async () => {
        const { spent, reserved } = (await state()) as { spent: string; reserved: string };
        return Number(reserved) === 0 && Math.round(Number(spent) * 100) === received;
      }, EXPIRY_MS);
    },
    START_MS * 2,
  );

  test.if(name === "FLUSHALL")(
    "loses no amount of a node that gets no further request",
    async () => {
      const { provider, nodes } = shared;
      provider.behave({ usage: { input: 3, output: 4 } });
      const route = await seedRoute(first(), {
        upstream: { targets: [targetAt(provider)], max_attempts: 1 },
      });
      const budgets = `/gateways/${route.gateway}/budgets`;
      const { id } = await create(first(), budgets, { name: "team", unit: "tokens", amount: 1000 });
      await untilAllFollow(nodes);
      const send = async ({ proxyUrl }: (typeof nodes)[number]) => {
        const headers = { "Content-Type": "application/json" };
        const body = JSON.stringify({ ...CHAT, max_tokens: 4 });
        const response = await fetch(proxyUrl + route.path, { method: "POST", headers, body });
        await response.bytes();
        expect(response.status).toBe(200);
      };
      const state = async () => (await first().api("GET", `${budgets}/${id}/state`)).body;
      await send(nodes[1]!);
      await waitUntil(async () => Number((await state()).spent) === 7);
      await losing.current().command("FLUSHALL");
      await send(first());
      await waitUntil(async () => Number((await state()).spent) === 14);
    },
    START_MS,
  );
});
