// A failing network between the gateway and PostgreSQL: refused, silent, cut, dropped by a firewall, slow. The data plane
// continues without an error, the Admin API soon responds 503, /readyz reports it, and the gateway recovers by itself.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import { startFaultProxy, type FaultProxy } from "../support/fault-proxy.ts";
import { startGatehouseProcess, type GatehouseProcess } from "../support/gatehouse-process.ts";
import { startLoad } from "../support/load.ts";
import { hasPostgres, sharedPostgres } from "../support/postgres.ts";
import { CHAT, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { waitUntil } from "../support/waiting.ts";
import { openFiles } from "./process-watch.ts";

setDefaultTimeout(120_000);

interface Readiness {
  readonly status: number;
  readonly store: string;
}

async function readiness(url: string): Promise<Readiness> {
  const response = await fetch(`${url}/readyz`);
  const { store } = (await response.json()) as { store: { state: string } };
  return { status: response.status, store: store.state };
}

interface ChatLoad {
  readonly problems: readonly string[];
  /** Resolves when some more requests have been served. */
  untilServed(): Promise<unknown>;
  stop(): Promise<void>;
}

/** Sends requests through the data plane until it is stopped. */
function startChats(url: string): ChatLoad {
  let served = 0;
  const problems: string[] = [];
  const stop = startLoad(4, async () => {
    const response = await fetch(url, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(CHAT),
    }).catch((error: unknown) => new Response(String(error), { status: 599 }));
    const text = await response.text();
    if (response.status === 200) served++;
    else problems.push(`${response.status} ${text}`);
  });
  const untilServed = () => {
    const before = served;
    return waitUntil(() => served > before + 10);
  };
  return { problems, untilServed, stop };
}

describe.skipIf(!hasPostgres)("between the gateway and PostgreSQL", () => {
  let provider: FakeProvider;
  beforeAll(async () => {
    provider = await startFakeProvider();
    await sharedPostgres();
  });
  afterAll(() => provider.stop());

  /** Every test has its own gateway. The tests wait most of the time, so they run concurrently. */
  async function withGateway(
    work: (gatehouse: GatehouseProcess, proxy: FaultProxy) => Promise<void>,
    notReady = false,
  ): Promise<void> {
    const cluster = await sharedPostgres();
    const proxy = startFaultProxy({ port: cluster.port });
    const url = proxy.through(await cluster.createMigrated());
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
  const FAILURES: typeof MORE = [
    ["connections refused", (proxy) => proxy.refuse()],
    ["silence", (proxy) => proxy.set({ toClient: { stallAfterBytes: 0 } })],
    ["cut in the middle of every response", (proxy) => proxy.set({ toClient: { cutAfterBytes: 30 } })],
    ...(process.env["GATEHOUSE_LONG"] === "1" ? MORE : []),
  ];

  test.concurrent.each(FAILURES)(
    "%s: no error in the data plane, 503 from the Admin API, and recovery",
    (_, begin) =>
      withGateway(async (gatehouse, proxy) => {
        const { gateway, path } = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
        const chats = startChats(gatehouse.proxyUrl + path);
        begin(proxy);
        const responses = await Promise.all([
          gatehouse.api("GET", `/gateways/${gateway}`),
          gatehouse.api("GET", "/iam/api-keys"),
          gatehouse.api("POST", "/gateways", { name: "rejected" }),
          gatehouse.api("PATCH", `/gateways/${gateway}`, { name: "rejected" }),
        ]);
        for (const { status, body } of responses)
          expect([status, body.code]).toEqual([503, "store_unavailable"]);
        await waitUntil(async () => (await readiness(gatehouse.adminUrl)).store === "away");
        expect(await readiness(gatehouse.proxyUrl)).toEqual({ status: 200, store: "away" });
        proxy.heal();
        await waitUntil(async () => (await gatehouse.api("GET", `/gateways/${gateway}`)).status === 200);
        await waitUntil(async () => (await readiness(gatehouse.adminUrl)).store === "ok");
        expect((await gatehouse.api("GET", "/gateways?name=rejected")).body.count).toBe(0);
        await waitUntil(
          async () => (await gatehouse.api("POST", "/gateways", { name: "after" })).status === 201,
        );
        await chats.untilServed();
        await chats.stop();
        expect(chats.problems).toEqual([]);
      }),
  );

  test.concurrent("connections that a firewall has dropped are replaced, and none is leaked", () =>
    withGateway(async (gatehouse, proxy) => {
      const { path } = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
      const chats = startChats(gatehouse.proxyUrl + path);
      await chats.untilServed();
      const files = openFiles(gatehouse);
      for (let times = 0; times < 2; times++) {
        proxy.strand();
        expect((await gatehouse.api("GET", "/gateways")).status).toBe(503);
        await waitUntil(
          async () => (await gatehouse.api("POST", "/gateways", { name: "after" })).status === 201,
        );
      }
      await chats.stop();
      expect(chats.problems).toEqual([]);
      await waitUntil(() => openFiles(gatehouse) <= files + 4);
    }),
  );

  test.concurrent("a slow database does not count as unavailable", () =>
    withGateway(async (gatehouse, proxy) => {
      proxy.set({ toClient: { delayMs: 20 } });
      expect((await gatehouse.api("POST", "/gateways", { name: "slowly" })).status).toBe(201);
      expect((await gatehouse.api("GET", "/gateways?name=slowly")).body.count).toBe(1);
      expect(await readiness(gatehouse.adminUrl)).toEqual({ status: 200, store: "ok" });
    }),
  );

  test.concurrent(
    "a start without the store: not ready, retries, and is ready once the store is available",
    () =>
      withGateway(async (gatehouse, proxy) => {
        expect(await readiness(gatehouse.adminUrl)).toEqual({ status: 503, store: "away" });
        expect((await fetch(`${gatehouse.adminUrl}/healthz`)).status).toBe(200);
        const rejected = await fetch(`${gatehouse.proxyUrl}/anything`, { method: "POST" });
        expect([rejected.status, ((await rejected.json()) as { code: string }).code]).toEqual([
          503,
          "not_ready",
        ]);
        for (let times = 0; times < 3; times++) {
          const before = proxy.accepted;
          await waitUntil(() => proxy.accepted > before);
        }
        expect(await readiness(gatehouse.adminUrl)).toEqual({ status: 503, store: "away" });
        proxy.heal();
        await waitUntil(async () => (await readiness(gatehouse.adminUrl)).status === 200);
        expect((await gatehouse.api("POST", "/gateways", { name: "first" })).status).toBe(201);
      }, true),
  );
});
