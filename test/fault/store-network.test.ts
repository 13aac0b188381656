// The network between the gateway and PostgreSQL in trouble: refused, silent, cut, forgotten by a firewall, slow. The
// data plane goes on without one error, the Admin API says 503 soon, /readyz tells, and all comes back by itself.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import { startFaultProxy, type FaultProxy } from "../support/fault-proxy.ts";
import { startGatehouseProcess, waitFor, type GatehouseProcess } from "../support/gatehouse-process.ts";
import { hasPostgres, sharedPostgres } from "../support/postgres.ts";
import { CHAT, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { openFiles } from "./process-watch.ts";

setDefaultTimeout(120_000);
/** The store gives an operation two seconds; the rest is for a busy machine. */
const SOON_MS = 6000;

interface Readiness {
  readonly status: number;
  readonly store: string;
}

async function readiness(url: string): Promise<Readiness> {
  const answer = await fetch(`${url}/readyz`);
  const { store } = (await answer.json()) as { store: { state: string } };
  return { status: answer.status, store: store.state };
}

/** Requests without end through the data plane; stopped, it tells what went wrong and how many went right. */
function load(url: string) {
  let isRunning = true;
  let served = 0;
  const problems: string[] = [];
  const callers = Array.from({ length: 4 }, async () => {
    while (isRunning) {
      const answer = await fetch(url, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(CHAT),
      }).catch((error: unknown) => new Response(String(error), { status: 599 }));
      const text = await answer.text();
      if (answer.status === 200) served++;
      else problems.push(`${answer.status} ${text}`);
      await Bun.sleep(5);
    }
  });
  return async () => {
    isRunning = false;
    await Promise.all(callers);
    return { served, faults: problems };
  };
}

describe.skipIf(!hasPostgres)("between the gateway and PostgreSQL", () => {
  let provider: FakeProvider;
  beforeAll(async () => {
    provider = await startFakeProvider();
    await sharedPostgres();
  });
  afterAll(() => provider.stop());

  /** A gateway of its own for each: most of the time they wait, and so they can do it together. */
  async function withGateway(
    work: (gatehouse: GatehouseProcess, proxy: FaultProxy) => Promise<void>,
    notReady = false,
  ): Promise<void> {
    const cluster = await sharedPostgres();
    const proxy = startFaultProxy({ port: cluster.port });
    const url = proxy.through(await cluster.createDatabase());
    if (notReady) proxy.set({ toServer: { resetAfterBytes: 0 } });
    const gatehouse = await startGatehouseProcess({ env: { DATABASE_URL: url }, notReady });
    try {
      await work(gatehouse, proxy);
    } finally {
      await gatehouse.stop();
      proxy.stop();
    }
  }

  const MORE: [name: string, begin: (proxy: FaultProxy) => void][] = [
    ["silence after some bytes", (proxy) => proxy.set({ toClient: { stallAfterBytes: 40 } })],
    ["reset at every request", (proxy) => proxy.set({ toServer: { resetAfterBytes: 1 } })],
    ["ten bytes a second", (proxy) => proxy.set({ toClient: { bytesPerSecond: 10 } })],
  ];
  const FAULTS: typeof MORE = [
    ["connections refused", (proxy) => proxy.refuse()],
    ["silence", (proxy) => proxy.set({ toClient: { stallAfterBytes: 0 } })],
    ["cut in the middle of every answer", (proxy) => proxy.set({ toClient: { cutAfterBytes: 30 } })],
    ...(process.env["GATEHOUSE_LONG"] === "1" ? MORE : []),
  ];

  test.concurrent.each(FAULTS)(
    "%s: not one error of the data plane, 503 soon, and back by itself",
    (_, begin) =>
      withGateway(async (gatehouse, proxy) => {
        const { gateway, path } = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
        const stop = load(gatehouse.proxyUrl + path);
        begin(proxy);
        const startedAt = performance.now();
        const answers = await Promise.all([
          gatehouse.api("GET", `/gateways/${gateway}`),
          gatehouse.api("GET", "/iam/api-keys"),
          gatehouse.api("POST", "/gateways", { name: "refused" }),
          gatehouse.api("PATCH", `/gateways/${gateway}`, { name: "refused" }),
        ]);
        expect(performance.now() - startedAt).toBeLessThan(SOON_MS);
        for (const { status, body } of answers)
          expect([status, body.code]).toEqual([503, "store_unavailable"]);
        await waitFor(async () => ((await readiness(gatehouse.adminUrl)).store === "away" ? true : null));
        expect(await readiness(gatehouse.proxyUrl)).toEqual({ status: 200, store: "away" });
        proxy.heal();
        await waitFor(async () =>
          (await gatehouse.api("GET", `/gateways/${gateway}`)).status === 200 ? true : null,
        );
        await waitFor(async () => ((await readiness(gatehouse.adminUrl)).store === "ok" ? true : null));
        expect((await gatehouse.api("GET", "/gateways?name=refused")).body.count).toBe(0);
        await waitFor(async () =>
          (await gatehouse.api("POST", "/gateways", { name: "after" })).status === 201 ? true : null,
        );
        const { served, faults } = await stop();
        expect(faults).toEqual([]);
        expect(served).toBeGreaterThan(10);
      }),
  );

  test.concurrent(
    "connections that a firewall has forgotten are given up for new ones, and none is left over",
    () =>
      withGateway(async (gatehouse, proxy) => {
        const { path } = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
        const stop = load(gatehouse.proxyUrl + path);
        await Bun.sleep(300);
        const files = openFiles(gatehouse);
        for (let times = 0; times < 2; times++) {
          proxy.strand();
          expect((await gatehouse.api("GET", "/gateways")).status).toBe(503);
          await waitFor(async () =>
            (await gatehouse.api("POST", "/gateways", { name: "after" })).status === 201 ? true : null,
          );
        }
        expect((await stop()).faults).toEqual([]);
        await waitFor(() => (openFiles(gatehouse) <= files + 4 ? true : null));
      }),
  );

  test.concurrent("a slow database is slow, not away", () =>
    withGateway(async (gatehouse, proxy) => {
      proxy.set({ toClient: { delayMs: 50 } });
      expect((await gatehouse.api("POST", "/gateways", { name: "slowly" })).status).toBe(201);
      expect((await gatehouse.api("GET", "/gateways?name=slowly")).body.count).toBe(1);
      expect(await readiness(gatehouse.adminUrl)).toEqual({ status: 200, store: "ok" });
    }),
  );

  test.concurrent(
    "a cold start without the store: not ready, asks again and again, ready once it is there",
    () =>
      withGateway(async (gatehouse, proxy) => {
        expect(await readiness(gatehouse.adminUrl)).toEqual({ status: 503, store: "away" });
        expect((await fetch(`${gatehouse.adminUrl}/healthz`)).status).toBe(200);
        const refused = await fetch(`${gatehouse.proxyUrl}/anything`, { method: "POST" });
        expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([
          503,
          "not_ready",
        ]);
        for (let times = 0; times < 3; times++) {
          const before = proxy.accepted;
          await waitFor(() => (proxy.accepted > before ? true : null));
        }
        expect(await readiness(gatehouse.adminUrl)).toEqual({ status: 503, store: "away" });
        proxy.heal();
        await waitFor(async () => ((await readiness(gatehouse.adminUrl)).status === 200 ? true : null));
        expect((await gatehouse.api("POST", "/gateways", { name: "first" })).status).toBe(201);
      }, true),
  );
});
