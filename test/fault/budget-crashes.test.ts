// Budgets over three nodes with PostgreSQL and Redis: never exceeded when a node is killed, and equal to what the provider counted whatever
// happened to requests and to Redis. `GATEHOUSE_LONG=1` sends 10,000 requests.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { Behavior } from "../../src/fake-provider/server.ts";
import { create } from "../support/admin-fixtures.ts";
import type { GatehouseProcess } from "../support/gatehouse-process.ts";
import { runs } from "../support/long-form.ts";
import { hasPostgres } from "../support/postgres.ts";
import { CHAT, seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { hasRedis } from "../support/redis.ts";
import { startSharedNodes, untilAllFollow, type SharedNodes } from "../support/shared-nodes.ts";
import { randomPause, waitUntil } from "../support/waiting.ts";

const REQUESTS = runs({ short: 1200, long: 10_000 });
const SENDERS = 60;
const START_MS = 60_000;
/** Leases last 30 s. */
const EXPIRY_MS = 35_000;

interface Seeded {
  readonly route: SeededRoute;
  readonly state: string;
}

interface SendOptions {
  readonly body?: object;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
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
  async function send(
    { proxyUrl }: GatehouseProcess,
    { path }: SeededRoute,
    { body = {}, headers = {}, signal }: SendOptions = {},
  ): Promise<number> {
    try {
      const response = await fetch(proxyUrl + path, {
        method: "POST",
        headers: {
          "Content-Type": "application/json",
          ...headers,
        },
        body: JSON.stringify({ ...CHAT, ...body }),
        ...(signal !== undefined && { signal }),
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
    "in a random walk with failures the budget is what the provider counted",
    async () => {
      const seeded = await seed({ unit: "usd", amount: "1000" });
      const behaviors: [Behavior, isBilled: boolean][] = [
        [{}, true],
        [{ delayMs: 30 }, true],
        [{ status: 500 }, false],
        [{ status: 400 }, false],
        [{ rateLimited: { retryAfter: 0 } }, false],
        [{ cutAfterChunks: 2, chunkDelayMs: 1 }, true],
        [{ chunkDelayMs: 10 }, true],
      ];
      let left = REQUESTS / 4;
      /** Of requests whose client disconnected. */
      const abandoned = new Set<string>();
      const sender = async (node: GatehouseProcess) => {
        while (left-- > 0) {
          const id = crypto.randomUUID();
          const [fake] = behaviors[Math.floor(Math.random() * behaviors.length)]!;
          const headers = { "x-fake": JSON.stringify(fake), "x-id": id };
          const body = { stream: Math.random() < 0.5 };
          const leaves = Math.random() < 0.3 ? AbortSignal.timeout(1 + Math.floor(Math.random() * 60)) : null;
          const status = await send(node, seeded.route, {
            body,
            headers,
            ...(leaves !== null && { signal: leaves }),
          });
          if (status === 0 && leaves?.aborted === true) abandoned.add(id);
        }
      };
      const pauses = async () => {
        for (let count = 0; count < 3; count++) {
          await randomPause(600);
          shared.redis?.pause();
          await randomPause(400);
          shared.redis?.resume();
        }
      };
      await Promise.all([pauses(), ...Array.from({ length: 12 }, (_, at) => sender(shared.nodes[at % 3]!))]);
      const spent = Math.round((await settledAmounts(seeded)) * 100);
      const billing = new Map(behaviors.map(([fake, isBilled]) => [JSON.stringify(fake), isBilled]));
      const [billed, free] = [true, false].map((isBilled) =>
        shared.provider.requests.filter(
          (request) => billing.get(request.header("x-fake") ?? "") === isBilled,
        ),
      );
      // The gateway does not know what the provider did for a client that disconnected before the response, and charges it.
      const unknown = free!.filter((request) => abandoned.has(request.header("x-id") ?? ""));
      expect(spent).toBeWithin(billed!.length, billed!.length + unknown.length + 1);
    },
    START_MS * 3,
  );

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
