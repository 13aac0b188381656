// A store that is unavailable, becomes available later, or rejects the process permanently, with real databases.
import { afterAll, describe, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { create, createChain, expectError } from "../support/admin-fixtures.ts";
import {
  PROGRAM,
  startGatehouseProcess,
  temporaryDirectory,
  TEST_SECRET,
  type GatehouseProcess,
} from "../support/gatehouse-process.ts";
import { hasPostgres, sharedPostgres, startPostgres, type PostgresCluster } from "../support/postgres.ts";
import { waitUntil } from "../support/waiting.ts";
import { freePort } from "../support/free-port.ts";

const scratch = temporaryDirectory();
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

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

/** Runs the process until it exits. After a timeout it is killed, and the code is null. */
async function runToEnd(env: Record<string, string>): Promise<{ code: number | null; stderr: string }> {
  const child = Bun.spawn([PROGRAM, "serve"], {
    cwd: scratch,
    env: {
      PATH: process.env["PATH"],
      ADMIN_PORT: "0",
      PROXY_PORT: "0",
      SERVER_SECRET_KEY: TEST_SECRET,
      LOG_FORMAT: "json",
      ...env,
    },
    stdout: "ignore",
    stderr: "pipe",
    timeout: 15_000,
    killSignal: "SIGKILL",
  });
  const stderr = await new Response(child.stderr).text();
  await child.exited;
  return { code: child.exitCode, stderr };
}

/** Expects that the process failed with a one-line message and without a stack trace. */
function expectOneLine(exit: { code: number | null; stderr: string }, message: RegExp): void {
  expect(exit.code).toBeGreaterThan(0);
  expect(exit.stderr.trimEnd().split("\n")).toHaveLength(1);
  expect(exit.stderr).toMatch(message);
  expect(exit.stderr).not.toMatch(/\bat .+:\d+:\d+/);
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

    test("a node loads what another node of the same database has written", async () => {
      const DATABASE_URL = await (await sharedPostgres()).createMigrated();
      const [one, two] = await Promise.all([
        startGatehouseProcess({ env: { DATABASE_URL } }),
        startGatehouseProcess({ env: { DATABASE_URL } }),
      ]);
      try {
        await Promise.all(
          [...Array(10).keys()].map((i) => create(i % 2 ? one : two, "/gateways", { name: `g${i}` })),
        );
        const nodes = [one, two];
        await waitUntil(async () => {
          const revisions = await Promise.all(
            nodes.map(async (node) => (await readiness(node)).body.revision),
          );
          return revisions.every((revision) => revision === 10);
        });
      } finally {
        await Promise.all([one.stop(), two.stop()]);
      }
    }, 60_000);
  },
);

describe("a store that rejects the process permanently ends it with a one-line message", () => {
  /** Creates a SQLite file of a gateway that has stored a credential. */
  async function usedFile(env: Record<string, string> = {}): Promise<string> {
    const dataDir = mkdtempSync(join(scratch, "used-"));
    const gatehouse = await startGatehouseProcess({ dataDir, env, keepData: true });
    await createChain(gatehouse);
    gatehouse.signal("SIGINT");
    await gatehouse.exited;
    await gatehouse.stop();
    return join(dataDir, "gatehouse.db");
  }

  test("a newer schema version (SQLite)", async () => {
    const file = await usedFile();
    const database = new Database(file);
    database.run("INSERT INTO schema_versions (version, applied_at) VALUES (999, '2030-01-01T00:00:00Z')");
    database.close();
    expectOneLine(await runToEnd({ DATABASE_URL: `sqlite://${file}` }), /schema version 999/);
  });

  test.skipIf(!hasPostgres)(
    "a newer schema version (PostgreSQL)",
    async () => {
      const DATABASE_URL = await (await sharedPostgres()).createMigrated();
      const gatehouse = await startGatehouseProcess({ env: { DATABASE_URL } });
      await gatehouse.stop();
      const sql = new Bun.SQL(DATABASE_URL, { max: 1 });
      await sql.unsafe(
        "INSERT INTO schema_versions (version, applied_at) VALUES (999, '2030-01-01T00:00:00Z')",
      );
      await sql.close();
      const DATA_DIR = join(scratch, "pg");
      expectOneLine(await runToEnd({ DATABASE_URL, DATA_DIR }), /schema version 999/);
    },
    30_000,
  );

  test("another ENCRYPTION_KEY, or another SERVER_SECRET_KEY if there was no ENCRYPTION_KEY", async () => {
    const derived = `sqlite://${await usedFile()}`;
    expectOneLine(await runToEnd({ DATABASE_URL: derived, ENCRYPTION_KEY: "another" }), /ENCRYPTION_KEY/);
    const newSecret = { DATABASE_URL: derived, SERVER_SECRET_KEY: `${TEST_SECRET}-changed` };
    expectOneLine(await runToEnd(newSecret), /ENCRYPTION_KEY/);
    const given = `sqlite://${await usedFile({ ENCRYPTION_KEY: "the right one" })}`;
    expectOneLine(await runToEnd({ DATABASE_URL: given, ENCRYPTION_KEY: "the wrong one" }), /ENCRYPTION_KEY/);
    expectOneLine(await runToEnd({ DATABASE_URL: given }), /ENCRYPTION_KEY/);
  }, 60_000);

  test("SERVER_SECRET_KEY can change if ENCRYPTION_KEY is set", async () => {
    const env = { ENCRYPTION_KEY: "stays the same" };
    const file = await usedFile(env);
    const changed = { ...env, DATABASE_URL: `sqlite://${file}`, SERVER_SECRET_KEY: `${TEST_SECRET}-changed` };
    const gatehouse = await startGatehouseProcess({ env: changed });
    try {
      const [gateway] = (await gatehouse.api("GET", "/gateways")).body.gateways;
      const { upstreams } = (await gatehouse.api("GET", `/gateways/${gateway.id}/upstreams`)).body;
      expect(upstreams[0].targets[0].credentials.header_value).toBe("Bea***mnop");
    } finally {
      await gatehouse.stop();
    }
  });

  test("a SQLite file that cannot be opened, created or read", async () => {
    const folder = join(scratch, "folder");
    mkdirSync(folder, { recursive: true });
    const noDatabase = join(scratch, "text.db");
    writeFileSync(noDatabase, "This is not a database. ".repeat(500));
    for (const path of ["/proc/gatehouse.db", folder, noDatabase]) {
      expectOneLine(await runToEnd({ DATABASE_URL: `sqlite://${path}` }), /database/i);
    }
  }, 60_000);
});
