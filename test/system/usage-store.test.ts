// Usage survives restarts and an unavailable store, and several processes can add to the same rows.
import { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import { expectError, expectProblemsAt, STORES } from "../support/admin-fixtures.ts";
import {
  startGatehouseProcess,
  temporaryDirectory,
  untilPrinted,
  type ApiResponse,
  type GatehouseProcess,
} from "../support/gatehouse-process.ts";
import { postChat } from "../support/plugin-fixtures.ts";
import { seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { NOTHING_SAVED } from "../support/usage-fixtures.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";

const LONG_MS = 120_000;
const PRICE = { model: "gpt-*", input_per_million: 100, output_per_million: 1000 };
const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function start(options: Parameters<typeof startGatehouseProcess>[0] = {}): Promise<GatehouseProcess> {
  const gatehouse = await startGatehouseProcess(options);
  cleanups.push(() => gatehouse.stop());
  return gatehouse;
}

async function startProvider(): Promise<FakeProvider> {
  const provider = await startFakeProvider();
  provider.behave({ usage: { input: 11, output: 7 } });
  cleanups.push(() => provider.stop());
  return provider;
}

async function sendChats(gatehouse: GatehouseProcess, route: SeededRoute, times: number): Promise<void> {
  for (let sent = 0; sent < times; sent++) {
    const response = await postChat(gatehouse, route);
    expect(response.status).toBe(200);
    await response.text();
  }
}

async function totalOf(gatehouse: GatehouseProcess, route: SeededRoute): Promise<ApiResponse["body"]> {
  return (await gatehouse.api("GET", `/gateways/${route.gateway}/usage`)).body.total;
}

/** Resolves to the total once it includes this many requests. */
function totalAfter(
  gatehouse: GatehouseProcess,
  route: SeededRoute,
  requests: number,
): Promise<ApiResponse["body"]> {
  return waitFor(async () => {
    const total = await totalOf(gatehouse, route);
    return total?.requests >= requests ? total : null;
  });
}

describe.each(STORES)("over %s", (_, environment) => {
  test(
    "two processes add to the same rows, prices apply in both, and usage survives a restart",
    async () => {
      const provider = await startProvider();
      const dataDir = temporaryDirectory();
      const shared = { dataDir, env: await environment(), keepData: true };
      const [one, two] = await Promise.all([start(shared), start(shared)]);
      const route = await seedRoute(one, { upstream: { targets: [targetAt(provider)] } });
      const put = await one.api("PUT", "/prices", { prices: [PRICE] });
      expect(put.body).toEqual({ prices: [PRICE], builtin: false, updated_at: expect.any(String) });
      const revision = async ({ adminUrl }: GatehouseProcess) =>
        ((await (await fetch(`${adminUrl}/readyz`)).json()) as { revision: number }).revision;
      const wanted = await revision(one);
      await waitUntil(async () => (await revision(two)) === wanted);
      expect((await two.api("GET", "/prices")).body).toEqual(put.body);

      await Promise.all([sendChats(one, route, 20), sendChats(two, route, 20)]);
      const expected = { requests: 40, partial_requests: 0, input_tokens: 440, output_tokens: 280 };
      expect(await totalAfter(one, route, 40)).toEqual({
        ...expected,
        ...NOTHING_SAVED,
        unpriced_requests: 0,
        cost: 0.324,
      });

      // Totals that are not written yet are written at shutdown.
      await sendChats(two, route, 10);
      for (const gatehouse of [one, two]) {
        gatehouse.signal("SIGTERM");
        expect(await gatehouse.exited).toBe(0);
      }
      const restarted = await start({ ...shared, keepData: false });
      expect(await totalOf(restarted, route)).toMatchObject({
        requests: 50,
        input_tokens: 550,
        output_tokens: 350,
      });
    },
    LONG_MS,
  );
});

test(
  "usage while the store is unavailable is written once when it is available again",
  async () => {
    const provider = await startProvider();
    const gatehouse = await start({ env: { LOG_LEVEL: "debug" } });
    const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
    const database = new Database(join(gatehouse.dataDir, "gatehouse.db"));
    cleanups.push(() => Promise.try(() => database.close()));
    database.run("BEGIN IMMEDIATE");
    await sendChats(gatehouse, route, 5);
    await untilPrinted(gatehouse, "usage not written; retrying");
    await sendChats(gatehouse, route, 5);
    database.run("ROLLBACK");
    expect(await totalAfter(gatehouse, route, 10)).toMatchObject({ requests: 10, input_tokens: 110 });
    await sendChats(gatehouse, route, 1);
    expect(await totalAfter(gatehouse, route, 11)).toMatchObject({ requests: 11, input_tokens: 121 });
  },
  LONG_MS,
);

describe("prices", () => {
  test(
    "built-in, replaced, and reset; each request has the price at its time",
    async () => {
      const provider = await startProvider();
      const gatehouse = await start();
      const route = await seedRoute(gatehouse, {
        upstream: {
          targets: [targetAt(provider, { default_model: "gpt-4o-mini", models: ["gpt-4o-mini"] })],
          model_routing: "prefer",
        },
      });
      const builtin = await gatehouse.api("GET", "/prices");
      expect(builtin.status).toBe(200);
      expect(builtin.body.builtin).toBe(true);
      expect(builtin.body.prices.length).toBeGreaterThan(30);
      const cost = async (requests: number) => (await totalAfter(gatehouse, route, requests)).cost;
      const listed = (11 * 0.15 + 7 * 0.6) / 1e6;
      const own = (11 * 100 + 7 * 1000) / 1e6;
      await sendChats(gatehouse, route, 1);
      expect(await cost(1)).toBeCloseTo(listed, 9);
      const put = await gatehouse.api("PUT", "/prices", { ...builtin.body, prices: [PRICE] });
      expect([put.status, (await gatehouse.api("GET", "/prices")).body]).toEqual([200, put.body]);
      await sendChats(gatehouse, route, 1);
      expect(await cost(2)).toBeCloseTo(listed + own, 9);
      await gatehouse.api("PUT", "/prices", { prices: [] });
      await sendChats(gatehouse, route, 1);
      expect(await cost(3)).toBeCloseTo(2 * listed + own, 9);
      expect((await gatehouse.api("DELETE", "/prices")).status).toBe(204);
      expect((await gatehouse.api("GET", "/prices")).body).toEqual(builtin.body);
      await sendChats(gatehouse, route, 1);
      expect(await cost(4)).toBeCloseTo(3 * listed + own, 9);
    },
    LONG_MS,
  );

  test(
    "are validated, and every problem has a path",
    async () => {
      const gatehouse = await start();
      const put = (prices: unknown) => gatehouse.api("PUT", "/prices", { prices });
      expectProblemsAt(await gatehouse.api("PUT", "/prices", {}), "prices");
      expectProblemsAt(await put([{ ...PRICE, model: "*gpt" }]), "prices[0].model");
      expectProblemsAt(await put([{ ...PRICE, model: "" }]), "prices[0].model");
      expectProblemsAt(await put([PRICE, PRICE]), "prices[1].model");
      expectProblemsAt(await put([{ ...PRICE, input_per_million: -1 }]), "prices[0].input_per_million");
      expectProblemsAt(await put([{ ...PRICE, output_per_million: "3" }]), "prices[0].output_per_million");
      expectProblemsAt(await put([{ ...PRICE, output_per_milion: 3 }]), "prices[0].output_per_milion");
      expectProblemsAt(
        await put(Array.from({ length: 1001 }, (_, index) => ({ ...PRICE, model: `m${index}` }))),
        "prices",
      );
      expectError(await gatehouse.api("PUT", "/prices", "[]"), 400, "invalid_json");
      expectError(await gatehouse.api("POST", "/prices", {}), 405, "method_not_allowed");
      expect((await gatehouse.api("GET", "/prices")).body.builtin).toBe(true);
      const response = await fetch(`${gatehouse.adminUrl}/api/v1/prices`);
      expect(response.status).toBe(401);
    },
    LONG_MS,
  );
});
