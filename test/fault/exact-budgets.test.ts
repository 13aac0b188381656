// Budgets and token limits are exact: of all requests that are sent at once, as many reach the provider as the limit allows, over three
// nodes on PostgreSQL and Redis and in the memory of one node. `GATEHOUSE_LONG=1` sends 10,000 requests instead of 1,200.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { create } from "../support/admin-fixtures.ts";
import { runs } from "../support/long-form.ts";
import { hasPostgres } from "../support/postgres.ts";
import { CHAT, seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { hasRedis } from "../support/redis.ts";
import { postAtOnce, startSharedNodes, untilAllFollow, type SharedNodes } from "../support/shared-nodes.ts";
import { waitUntil } from "../support/waiting.ts";

const REQUESTS = runs({ short: 1200, long: 10_000 });
const START_MS = 120_000;
const ALLOWED = 100;
/** Its output has a limit, so that the reservation does not depend on earlier responses. */
const BODY = { ...CHAT, max_tokens: 3 };

type Fields = Record<string, unknown>;

describe.each([
  { where: "over three nodes", setup: { nodes: 3, redis: true, postgres: true } },
  { where: "in memory", setup: { nodes: 1, redis: false, postgres: false } },
])("$where", ({ setup }) => {
  const isMissing = (setup.redis && !hasRedis) || (setup.postgres && !hasPostgres);
  describe.skipIf(isMissing)("of requests that are sent at once", () => {
    let shared: SharedNodes;
    /** What a request reserves. */
    let reserved = 0;
    beforeAll(async () => {
      shared = await startSharedNodes(setup);
      reserved = await reservedTokens();
    }, START_MS);
    afterAll(() => shared.stop());
    beforeEach(() => shared.provider.reset());

    const first = () => shared.nodes[0]!;

    const seed = (plugins: readonly Fields[] = []) =>
      seedRoute(first(), {
        gateway: {
          prices: [{ model: "gpt-fake", per_request: "0.01" }],
          required_plugins: plugins,
        },
        upstream: { targets: [targetAt(shared.provider)], max_attempts: 1 },
      });

    const tokenLimiter = (fields: Fields): Fields => ({
      name: "token_limiter",
      stage: "pre_request",
      settings: { limits: { global: { window: "1h", ...fields } } },
    });

    /** Creates a budget. Returns the path of its state. */
    async function addBudget({ gateway }: SeededRoute, fields: Fields): Promise<string> {
      const path = `/gateways/${gateway}/budgets`;
      const { id } = await create(first(), path, { name: `budget of ${String(fields["unit"])}`, ...fields });
      return `${path}/${id}/state`;
    }

    /** A request that can never fit into a limit is rejected with what it would reserve. */
    async function reservedTokens(): Promise<number> {
      const route = await seed([tokenLimiter({ limit: 1 })]);
      const response = await fetch(first().proxyUrl + route.path, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(BODY),
      });
      return ((await response.json()) as { requested: number }).requested;
    }

    /** The provider takes a moment, so that many reservations are open at the same time, and reports these tokens. */
    function reportUsage(tokens: number): void {
      const usage = { input: tokens - BODY.max_tokens, output: BODY.max_tokens };
      shared.provider.behave(() => ({ usage, delayMs: Math.random() * 100 }));
    }

    async function flood({ path }: SeededRoute, count = REQUESTS): Promise<Record<number, number>> {
      await untilAllFollow(shared.nodes);
      return postAtOnce(shared.nodes, path, BODY, count);
    }

    async function spentOf(state: string): Promise<number> {
      let spent = NaN;
      await waitUntil(async () => {
        const { body } = await first().api("GET", state);
        spent = Number(body.spent);
        return Number(body.reserved) === 0;
      });
      return spent;
    }

    test(
      "of $1.00 at $0.01 per request exactly 100 requests reach the provider",
      async () => {
        const route = await seed();
        const state = await addBudget(route, { unit: "usd", amount: "1.00" });
        reportUsage(reserved);
        expect(await flood(route)).toEqual({ 200: ALLOWED, 402: REQUESTS - ALLOWED });
        expect(shared.provider.requestCount).toBe(ALLOWED);
        expect(await spentOf(state)).toBe(1);
      },
      START_MS,
    );

    test(
      "of a budget of 100 times the tokens that a request reserves and uses exactly 100 requests reach the provider",
      async () => {
        const route = await seed();
        const amount = ALLOWED * reserved;
        const state = await addBudget(route, { unit: "tokens", amount });
        reportUsage(reserved);
        expect(await flood(route)).toEqual({ 200: ALLOWED, 402: REQUESTS - ALLOWED });
        expect(shared.provider.requestCount).toBe(ALLOWED);
        expect(await spentOf(state)).toBe(amount);
      },
      START_MS,
    );

    test.each([
      ["all tokens", "total", () => reserved],
      ["tokens of the output", "output", () => BODY.max_tokens],
    ] as const)(
      "of a token limit of %s exactly 100 requests reach the provider",
      async (_, count, ofRequest) => {
        const route = await seed([tokenLimiter({ limit: ALLOWED * ofRequest(), count })]);
        reportUsage(reserved);
        expect(await flood(route)).toEqual({ 200: ALLOWED, 429: REQUESTS - ALLOWED });
        expect(shared.provider.requestCount).toBe(ALLOWED);
      },
      START_MS,
    );

    test(
      "responses that use less than was reserved leave room for later requests, and never more than the amount is used",
      async () => {
        const route = await seed();
        const amount = ALLOWED * reserved;
        const state = await addBudget(route, { unit: "tokens", amount });
        const used = reserved - 1;
        reportUsage(used);
        await flood(route);
        expect(await spentOf(state)).toBe(shared.provider.requestCount * used);
        // Then one by one, until less is left than a request reserves.
        for (let left = 2 * ALLOWED; left > 0; left--) {
          const statuses = await flood(route, 1);
          await spentOf(state);
          if (statuses[402] === 1) break;
        }
        const spent = await spentOf(state);
        expect(spent).toBe(shared.provider.requestCount * used);
        expect(spent).toBeWithin(amount - reserved + 1, amount + 1);
      },
      START_MS,
    );

    test(
      "responses that use more than was reserved exceed the amount by no more than their excess",
      async () => {
        const route = await seed();
        const amount = ALLOWED * reserved;
        const state = await addBudget(route, { unit: "tokens", amount });
        const excess = 5;
        reportUsage(reserved + excess);
        const statuses = await flood(route);
        const reached = shared.provider.requestCount;
        // A response that a client does not receive as a whole is charged as reserved.
        expect(statuses).toEqual({ 200: reached, 402: REQUESTS - reached });
        expect(reached).toBeLessThanOrEqual(ALLOWED);
        const spent = await spentOf(state);
        expect(spent).toBe(reached * (reserved + excess));
        expect(spent).toBeLessThanOrEqual(amount + reached * excess);
        expect(await flood(route, 10)).toEqual({ 402: 10 });
      },
      START_MS,
    );

    test("of several calls at the same time that confirm one plan, one changes the budget", async () => {
      const route = await seed();
      const state = await addBudget(route, { unit: "tokens", amount: 1000 });
      const adjust = state.replace("/state", "/adjust");
      await first().api("POST", adjust, { amount: 500 });
      await untilAllFollow(shared.nodes);
      for (let spent = 500; spent > 495; spent--) {
        const change = { amount: -1 };
        const plan = await first().api("POST", `${adjust}?dry_run=true`, change);
        const calls = Array.from({ length: 9 }, async (_, at) => {
          const node = shared.nodes[at % shared.nodes.length]!;
          return (await node.api("POST", `${adjust}?confirm=${plan.body.confirm}`, change)).status;
        });
        const accepted = (await Promise.all(calls)).filter((status) => status === 200);
        expect([accepted.length, await spentOf(state)]).toEqual([1, spent - 1]);
      }
    });
  });
});
