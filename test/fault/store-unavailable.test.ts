// A PostgreSQL that is stopped, or does not respond, under a running gateway or before it starts.
import { afterAll, describe, expect, test } from "bun:test";
import { create, createChain, expectError } from "../support/admin-fixtures.ts";
import { startGatehouseProcess, type GatehouseProcess } from "../support/gatehouse-process.ts";
import { hasPostgres, startPostgres, type PostgresCluster } from "../support/postgres.ts";
import { waitUntil } from "../support/waiting.ts";
import { freePort } from "../support/free-port.ts";

interface Readiness {
  readonly status: number;
  readonly body: { status: string; revision: number | null; store: { state: string; detail?: string } };
}

async function readiness(gatehouse: GatehouseProcess): Promise<Readiness> {
  const response = await fetch(`${gatehouse.adminUrl}/readyz`);
  return { status: response.status, body: (await response.json()) as Readiness["body"] };
}

function storeState(gatehouse: GatehouseProcess, state: string): Promise<void> {
  return waitUntil(async () => (await readiness(gatehouse)).body.store.state === state);
}

describe.skipIf(!hasPostgres)(
  "a store that is unavailable after the configuration was loaded (PostgreSQL)",
  () => {
    let cluster: PostgresCluster;
    let gatehouse: GatehouseProcess;
    afterAll(() => gatehouse.stop());

    test("/readyz stays 200 and reports it; the Admin API is 503 store_unavailable; both recover", async () => {
      cluster = await startPostgres();
      gatehouse = await startGatehouseProcess({ env: { DATABASE_URL: await cluster.createDatabase() } });
      const chain = await createChain(gatehouse);
      const loaded = await readiness(gatehouse);
      expect(loaded).toMatchObject({ status: 200, body: { status: "ready", store: { state: "ok" } } });

      cluster.control("stop", "-m", "immediate");
      await storeState(gatehouse, "away");
      const unavailable = await readiness(gatehouse);
      expect(unavailable).toMatchObject({
        status: 200,
        body: { status: "ready", revision: loaded.body.revision },
      });
      expect(unavailable.body.store.detail).toMatch(/\S/);

      const key = { name: "k", subject: chain.gateway };
      for (const [method, path, body] of [
        ["GET", "/gateways"],
        ["GET", `/gateways/${chain.gateway}`],
        ["GET", `/gateways/${chain.gateway}/rules`],
        ["GET", "/iam/api-keys"],
        ["POST", "/gateways", { name: "lost" }],
        ["POST", `/gateways/${chain.gateway}`, { name: "lost" }],
        ["PUT", `/gateways/${chain.gateway}`, { name: "lost" }],
        ["PATCH", `/gateways/${chain.gateway}/rules/${chain.rule}`, { name: "lost" }],
        ["DELETE", `/gateways/${chain.gateway}/rules/${chain.rule}`],
        ["POST", "/iam/api-keys", key],
      ] as const) {
        const response = await gatehouse.api(method, path, body);
        expectError(response, 503, "store_unavailable");
        expect(response.body.error).not.toContain("postgres://");
      }
      // Requests that do not need the store succeed, and invalid requests get their usual error.
      expect((await gatehouse.api("GET", "/providers")).status).toBe(200);
      expect((await gatehouse.api("GET", "/plugins")).status).toBe(200);
      expectError(await gatehouse.api("GET", "/gateways?limit=0"), 400, "validation_failed");
      expect((await fetch(`${gatehouse.proxyUrl}/healthz`)).status).toBe(200);

      cluster.control("start");
      await storeState(gatehouse, "ok");
      expect((await readiness(gatehouse)).body).toMatchObject({ revision: loaded.body.revision });
      expect((await gatehouse.api("GET", `/gateways/${chain.gateway}`)).body.name).toBe("chain");
      expect((await gatehouse.api("GET", `/gateways/${chain.gateway}/rules/${chain.rule}`)).status).toBe(200);
      await create(gatehouse, "/gateways", { name: "after" });
      expect((await gatehouse.api("GET", "/gateways")).body.count).toBe(2);
    }, 60_000);

    test("a server that accepts connections but does not respond counts as unavailable", async () => {
      process.kill(cluster.pid(), "SIGSTOP");
      const backends = Bun.spawnSync(["pgrep", "-P", String(cluster.pid())])
        .stdout.toString()
        .trim()
        .split("\n");
      for (const pid of backends) process.kill(Number(pid), "SIGSTOP");
      try {
        expectError(await gatehouse.api("GET", "/gateways"), 503, "store_unavailable");
        expectError(await gatehouse.api("POST", "/gateways", { name: "lost" }), 503, "store_unavailable");
        await storeState(gatehouse, "away");
        expect((await readiness(gatehouse)).status).toBe(200);
      } finally {
        for (const pid of backends) process.kill(Number(pid), "SIGCONT");
        process.kill(cluster.pid(), "SIGCONT");
      }
      await storeState(gatehouse, "ok");
      await waitUntil(async () => (await gatehouse.api("GET", "/gateways")).status === 200);
      expect((await gatehouse.api("GET", "/gateways?name=lost")).body.count).toBe(0);
    }, 60_000);

    test("/readyz is 503 until the configuration is loaded for the first time", async () => {
      const url = await cluster.createDatabase();
      cluster.control("stop", "-m", "fast");
      const late = await startGatehouseProcess({ env: { DATABASE_URL: url }, notReady: true });
      try {
        expect(await readiness(late)).toMatchObject({
          status: 503,
          body: { status: "starting", revision: null, store: { state: "away" } },
        });
        expect((await fetch(`${late.adminUrl}/healthz`)).status).toBe(200);
        expectError(await late.api("GET", "/gateways"), 503, "store_unavailable");
        expectError(await late.api("POST", "/gateways", { name: "x" }), 503, "store_unavailable");
        cluster.control("start");
        await waitUntil(async () => (await readiness(late)).status === 200);
        await create(late, "/gateways", { name: "first" });
        late.signal("SIGTERM");
        expect(await late.exited).toBe(0);
      } finally {
        await late.stop();
      }
    }, 60_000);

    test("SIGTERM ends a process whose store is unavailable", async () => {
      const port = freePort();
      const env = { DATABASE_URL: `postgres://postgres@127.0.0.1:${port}/nothing` };
      const gatehouse = await startGatehouseProcess({ env, notReady: true });
      gatehouse.signal("SIGTERM");
      expect(await gatehouse.exited).toBe(0);
      await gatehouse.stop();
    }, 60_000);
  },
);
