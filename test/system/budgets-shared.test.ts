// Budgets of several processes: exact over nodes that share Redis, kept over restarts without Redis.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import { confirmed } from "../support/confirmed.ts";
import { create } from "../support/admin-fixtures.ts";
import {
  startGatehouseProcess,
  temporaryDirectory,
  untilPrinted,
  type GatehouseProcess,
  type RunningGatehouse,
} from "../support/gatehouse-process.ts";
import { logRecords } from "../support/plugin-fixtures.ts";
import { CHAT, seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { hasRedis, startRedis, type RedisServer } from "../support/redis.ts";
import { untilAllFollow } from "../support/shared-nodes.ts";
import { waitUntil } from "../support/waiting.ts";

const START_MS = 60_000;
let provider: FakeProvider;
let folder: string;

beforeAll(async () => {
  folder = temporaryDirectory();
  provider = await startFakeProvider();
});
afterAll(async () => {
  await provider.stop();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => provider.reset());

/** A route at $0.01 per request, with a budget in dollars. */
async function seedBudget(gatehouse: RunningGatehouse, amount: string) {
  const route = await seedRoute(gatehouse, {
    gateway: { prices: [{ model: "gpt-fake", per_request: "0.01" }] },
    upstream: { targets: [targetAt(provider)] },
  });
  const { id } = await create(gatehouse, `/gateways/${route.gateway}/budgets`, {
    name: "team",
    unit: "usd",
    amount,
  });
  return { route, state: `/gateways/${route.gateway}/budgets/${id}/state` };
}

async function statusOf({ proxyUrl }: RunningGatehouse, { path }: SeededRoute): Promise<number> {
  const response = await fetch(proxyUrl + path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(CHAT),
  });
  await response.bytes();
  return response.status;
}

const spentIn = async (gatehouse: RunningGatehouse, state: string) =>
  (await gatehouse.api("GET", state)).body as { spent: string; reserved: string };

const reportedShares = (gatehouse: RunningGatehouse) =>
  logRecords(gatehouse).flatMap(({ msg, share }) => (msg === "budget threshold reached" ? [share] : []));

describe.skipIf(!hasRedis)("over three nodes with Redis", () => {
  let redis: RedisServer;
  let nodes: GatehouseProcess[] = [];

  beforeAll(async () => {
    redis = await startRedis();
    const env = {
      REDIS_URL: redis.url,
      // On a busy machine Redis itself may not run for longer than the default, and `closed` would reject requests.
      REDIS_SILENT_MS: "2000",
      WORKERS: "1",
      DATABASE_URL: `sqlite://${join(folder, "shared.db")}`,
    };
    nodes = [await startGatehouseProcess({ env })];
    nodes.push(...(await Promise.all([startGatehouseProcess({ env }), startGatehouseProcess({ env })])));
  }, START_MS);
  afterAll(async () => {
    await Promise.all(nodes.map((node) => node.stop()));
    await redis.stop();
  });

  test("of $1.00 at $0.01 per request exactly 100 requests reach the provider", async () => {
    const [first] = nodes;
    const { route, state } = await seedBudget(first!, "1.00");
    await untilAllFollow(nodes);
    const statuses: number[] = [];
    const sender = async (node: GatehouseProcess) => {
      for (let sent = 0; sent < 20; sent++) statuses.push(await statusOf(node, route));
    };
    await Promise.all(nodes.flatMap((node) => Array.from({ length: 10 }, () => sender(node))));
    expect(statuses.filter((status) => status === 200)).toHaveLength(100);
    expect(statuses.filter((status) => status === 402)).toHaveLength(500);
    expect(provider.requests).toHaveLength(100);
    await waitUntil(async () => (await spentIn(first!, state)).reserved === "0.00");
    for (const node of nodes) expect(await spentIn(node, state)).toMatchObject({ spent: "1.00" });
  }, 60_000);
});

test(
  "without Redis, a share that one process has reported is not reported by another one later",
  async () => {
    const env = { DATABASE_URL: `sqlite://${join(folder, "reports.db")}`, WORKERS: "1" };
    const first = await startGatehouseProcess({ env });
    const second = await startGatehouseProcess({ env });
    try {
      const { route, state } = await seedBudget(first, "0.04");
      await first.api("PATCH", state.replace("/state", ""), { warn_at: [0.5, 0.75] });
      await untilAllFollow([first, second]);
      for (let sent = 0; sent < 2; sent++) await statusOf(first, route);
      await untilPrinted(first, "budget threshold reached");
      await waitUntil(async () => (await spentIn(second, state)).spent === "0.02");
      await statusOf(second, route);
      await waitUntil(() => reportedShares(second).includes(0.75));
      expect([reportedShares(first), reportedShares(second)]).toEqual([[0.5], [0.75]]);
    } finally {
      await Promise.all([first.stop(), second.stop()]);
    }
  },
  START_MS,
);

test(
  "a restart without Redis loses nothing that was spent",
  async () => {
    const env = { DATABASE_URL: `sqlite://${join(folder, "restarted.db")}`, WORKERS: "1" };
    const before = await startGatehouseProcess({ env, dataDir: folder, keepData: true });
    const { route, state } = await seedBudget(before, "0.05");
    const each = { name: "keys", unit: "usd", amount: "1", scope: "api_key", each: true };
    const { id } = await create(before, `/gateways/${route.gateway}/budgets`, each);
    for (let sent = 0; sent < 3; sent++) expect(await statusOf(before, route)).toBe(200);
    before.signal("SIGTERM");
    await before.exited;
    const after = await startGatehouseProcess({ env, dataDir: folder, keepData: true });
    expect(await spentIn(after, state)).toMatchObject({ spent: "0.03", reserved: "0.00" });
    // Requests without an API key are a subject, too.
    const ofKeys = `/gateways/${route.gateway}/budgets/${id}`;
    expect(await spentIn(after, `${ofKeys}/state`)).toMatchObject({ spent: "0.03" });
    await confirmed(after, `${ofKeys}/reset`, {});
    expect(await spentIn(after, `${ofKeys}/state`)).toMatchObject({ spent: "0.00" });
    const statuses = [];
    for (let sent = 0; sent < 3; sent++) statuses.push(await statusOf(after, route));
    expect(statuses).toEqual([200, 200, 402]);
    await after.stop();
  },
  START_MS,
);
