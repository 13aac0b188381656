// A store that rejects the process permanently, or is shared by two nodes, with real databases.
import { afterAll, describe, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { create, createChain } from "../support/admin-fixtures.ts";
import {
  PROGRAM,
  startGatehouseProcess,
  temporaryDirectory,
  TEST_SECRET,
  type GatehouseProcess,
} from "../support/gatehouse-process.ts";
import { hasPostgres, sharedPostgres } from "../support/postgres.ts";
import { hasRedis, startRedis } from "../support/redis.ts";
import { waitUntil } from "../support/waiting.ts";

const scratch = temporaryDirectory();
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

async function revisionOf(gatehouse: GatehouseProcess): Promise<number | null> {
  const response = await fetch(`${gatehouse.adminUrl}/readyz`);
  return ((await response.json()) as { revision: number | null }).revision;
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

test.skipIf(!hasPostgres)(
  "a node loads what another node of the same database has written",
  async () => {
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
        const revisions = await Promise.all(nodes.map(async (node) => await revisionOf(node)));
        return revisions.every((revision) => revision === 10);
      });
    } finally {
      await Promise.all([one.stop(), two.stop()]);
    }
  },
  60_000,
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
    60_000,
  );

  test("a damaged SQLite file", async () => {
    const DATA_DIR = mkdtempSync(join(scratch, "damaged-"));
    writeFileSync(join(DATA_DIR, "gatehouse.db"), "not a database".repeat(100));
    expectOneLine(await runToEnd({ DATA_DIR }), /database is damaged.* Restore a backup of the database/);
  });

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

test.skipIf(!hasRedis)(
  "a node with another database than the other nodes of its Redis does not start, until an operator moves Redis",
  async () => {
    const redis = await startRedis(["--appendonly", "no"]);
    const env = (name: string) => ({
      REDIS_URL: redis.url,
      REDIS_SILENT_MS: "2000",
      WORKERS: "1",
      DATABASE_URL: `sqlite://${join(scratch, name)}`,
    });
    try {
      const first = await startGatehouseProcess({ env: env("first.db") });
      const second = await startGatehouseProcess({ env: env("first.db") });
      const refused = await runToEnd(env("other.db"));
      expectOneLine(refused, /belongs to the installation .*need the same DATABASE_URL/);
      expect(refused.code).toBe(2);
      await Promise.all([first.stop(), second.stop()]);
      await redis.command("DEL", "gatehouse:installation");
      await (await startGatehouseProcess({ env: env("other.db") })).stop();
      expectOneLine(await runToEnd(env("first.db")), /delete the key gatehouse:installation/);
    } finally {
      await redis.stop();
    }
  },
  60_000,
);
