// Budgets over three nodes with PostgreSQL and Redis are never exceeded when a node is killed. `GATEHOUSE_LONG=1` sends 10,000 requests.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { create } from "../support/admin-fixtures.ts";
import type { GatehouseProcess } from "../support/gatehouse-process.ts";
import { runs } from "../support/long-form.ts";
import { hasPostgres } from "../support/postgres.ts";
import { CHAT, seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { hasRedis } from "../support/redis.ts";
import { startSharedNodes, untilAllFollow, type SharedNodes } from "../support/shared-nodes.ts";
import { waitUntil } from "../support/waiting.ts";

const REQUESTS = runs({ short: 1200, long: 10_000 });
const SENDERS = 60;
const START_MS = 60_000;
/** Leases last 30 s. */
const EXPIRY_MS = 35_000;

interface Seeded {
  readonly route: SeededRoute;
  readonly state: string;
}

describe.skipIf(!hasPostgres || !hasRedis)("budgets of three nodes", () => {
  let shared: SharedNodes;
  beforeAll(async () => {
    shared = await startSharedNodes({ nodes: 3, redis: true, postgres: true });
  }, START_MS);
  afterAll(() => shared.stop());
  beforeEach(() => shared.provider.reset());

  /** Requests cost $0.01, or 10 tokens. */
  async function seed(budget: Record<string, unknown>): Promise<Seeded> {
    const { nodes, provider } = shared;
    const [first] = nodes;
    const route = await seedRoute(first!, {
      gateway: { prices: [{ model: "gpt-fake", per_request: "0.01" }] },
      upstream: { targets: [targetAt(provider)], max_attempts: 1 },
    });
    const { id } = await create(first!, `/gateways/${route.gateway}/budgets`, { name: "team", ...budget });
    const state = `/gateways/${route.gateway}/budgets/${id}/state`;
    await untilAllFollow(nodes);
    return { route, state };
  }

  /** Resolves to the status; 0 if the connection broke. */
  async function send({ proxyUrl }: GatehouseProcess, { path }: SeededRoute): Promise<number> {
    try {
      const response = await fetch(proxyUrl + path, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(CHAT),
      });
      await response.bytes();
      return response.status;
    } catch {
      return 0;
    }
  }

  const amountsOf = async ({ state }: Seeded) =>
    (await shared.nodes[0]!.api("GET", state)).body as { spent: string | number; reserved: string | number };

  async function settledAmounts(seeded: Seeded): Promise<number> {
    await waitUntil(async () => Number((await amountsOf(seeded)).reserved) === 0, EXPIRY_MS);
    return Number((await amountsOf(seeded)).spent);
  }

  async function flood(seeded: Seeded, during: () => Promise<void> = () => Promise.resolve()) {
    let left = REQUESTS;
    const statuses: number[] = [];
    const sender = async (node: GatehouseProcess) => {
      while (left-- > 0) statuses.push(await send(node, seeded.route));
    };
    const senders = Array.from({ length: SENDERS }, (_, at) =>
      sender(shared.nodes[at % shared.nodes.length]!),
    );
    await Promise.all([during(), ...senders]);
    return statuses.filter((status) => status === 200).length;
  }

  test(
    "with a node killed in the middle never more than 100, and its reservations expire",
    async () => {
      const seeded = await seed({ unit: "usd", amount: "1.00" });
      const { nodes, provider } = shared;
      provider.behave({ delayMs: 20 });
      await flood(seeded, async () => {
        await waitUntil(() => provider.requestCount > 30);
        nodes[2]!.signal("SIGKILL");
        await nodes[2]!.exited;
      });
      const reached = provider.requestCount;
      expect(reached).toBeLessThanOrEqual(100);
      const open = Math.round(Number((await amountsOf(seeded)).reserved) * 100);
      const spent = Math.round((await settledAmounts(seeded)) * 100);
      expect(spent).toBeWithin(reached, reached + open + 1);
      expect(spent).toBeLessThanOrEqual(100);
    },
    START_MS * 3,
  );
});
