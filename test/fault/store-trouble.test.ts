// A database that fails under a running gateway: read-only, full, locked, unresponsive. Writes always get a 503 with the
// reason and change nothing, and the gateway recovers by itself.
import { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import { chmodSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkDatabase, Ledger, readStates, writeUntilStopped } from "../contract/store-ledger.ts";
import { withSql } from "../contract/store-records.ts";
import {
  startGatehouseProcess,
  temporaryDirectory,
  type ApiResponse,
  type GatehouseProcess,
} from "../support/gatehouse-process.ts";
import { hasPostgres, startPostgres, type PostgresCluster } from "../support/postgres.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";

const isRoot = process.getuid?.() === 0;
const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Runs a command that needs privileges. If it fails, the test is skipped with a message; in CI it fails. */
function permitted(what: string, ...command: string[]): boolean {
  if (Bun.spawnSync(command).exitCode === 0) return true;
  const message = `${what} is not possible here (${command.join(" ")}), so its test is SKIPPED`;
  if (process.env["CI"] === "true") throw new Error(`${message}; in CI that is a failure`);
  process.stderr.write(`\n!!! ${message}\n\n`);
  return false;
}

async function start(env: Record<string, string> = {}, dataDir = temporaryDirectory()) {
  const gatehouse = await startGatehouseProcess({ env, dataDir, keepData: true });
  cleanups.push(() => gatehouse.stop());
  return gatehouse;
}

const create = (gatehouse: GatehouseProcess, name: string) => gatehouse.api("POST", "/gateways", { name });

async function namesOf(gatehouse: GatehouseProcess): Promise<string[]> {
  const { status, body } = await gatehouse.api("GET", "/gateways?limit=1000");
  expect(status).toBe(200);
  return (body.gateways as { name: string }[]).map(({ name }) => name);
}

/** Expects a well-formed error with a reason that an operator can act on. */
function expectUnavailable(response: ApiResponse, reason: RegExp): void {
  expect(response.status).toBe(503);
  expect(Object.keys(response.body).sort()).toEqual(["code", "error", "request_id"]);
  expect(response.body.code).toBe("store_unavailable");
  expect(response.body.error).toMatch(reason);
  expect(response.body.request_id).toBe(response.headers.get("x-request-id"));
  expect(response.headers.get("retry-after")).toMatch(/^\d+$/);
}

/** Expects that every kind of write fails. */
async function expectWritesFail(gatehouse: GatehouseProcess, id: string, reason: RegExp): Promise<void> {
  expectUnavailable(await create(gatehouse, "rejected"), reason);
  expectUnavailable(await gatehouse.api("PATCH", `/gateways/${id}`, { name: "rejected" }), reason);
  expectUnavailable(await gatehouse.api("DELETE", `/gateways/${id}`), reason);
  expectUnavailable(await gatehouse.api("POST", "/iam/api-keys", { name: "rejected", subject: id }), reason);
}

async function expectRecovery(gatehouse: GatehouseProcess, names: readonly string[]): Promise<void> {
  await waitUntil(async () => (await create(gatehouse, "after")).status === 201);
  expect(await namesOf(gatehouse)).toEqual([...names, "after"]);
  expect((await gatehouse.api("GET", "/iam/api-keys")).body.count).toBe(0);
}

describe("SQLite", () => {
  test("a file that is read-only for this process", async () => {
    const dataDir = temporaryDirectory();
    const file = join(dataDir, "gatehouse.db");
    const before = await start({}, dataDir);
    const { body } = await create(before, "kept");
    before.signal("SIGTERM");
    expect(await before.exited).toBe(0);
    // Root can write to a file regardless of its mode, but not to an immutable file.
    if (isRoot && !permitted("an immutable file", "chattr", "+i", file)) return;
    if (!isRoot) chmodSync(file, 0o444);
    const allowWrites = () => (isRoot ? void Bun.spawnSync(["chattr", "-i", file]) : chmodSync(file, 0o644));
    cleanups.push(allowWrites);
    const gatehouse = await start({}, dataDir);
    expect(await namesOf(gatehouse)).toEqual(["kept"]);
    await expectWritesFail(gatehouse, body.id, /read-only/);
    expect(await namesOf(gatehouse)).toEqual(["kept"]);
    allowWrites();
    await expectRecovery(gatehouse, ["kept"]);
  }, 60_000);

  test("files that become immutable while the process runs", async () => {
    const gatehouse = await start();
    const { body } = await create(gatehouse, "kept");
    const files = ["gatehouse.db", "gatehouse.db-wal"].map((name) => join(gatehouse.dataDir, name));
    if (!permitted("an immutable file", "chattr", "+i", ...files)) return;
    cleanups.push(() => void Bun.spawnSync(["chattr", "-i", ...files]));
    await expectWritesFail(gatehouse, body.id, /disk error|read-only/);
    expect(await namesOf(gatehouse)).toEqual(["kept"]);
    Bun.spawnSync(["chattr", "-i", ...files]);
    await expectRecovery(gatehouse, ["kept"]);
  }, 60_000);

  test("a full disk", async () => {
    const dataDir = temporaryDirectory();
    if (!permitted("a small disk", "mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", dataDir)) return;
    cleanups.push(() => void Bun.spawnSync(["umount", "-l", dataDir]));
    const gatehouse = await start({}, dataDir);
    const { body } = await create(gatehouse, "kept");
    const filler = join(dataDir, "filler");
    expect(() => writeFileSync(filler, Buffer.alloc(16 << 20))).toThrow("ENOSPC");
    // The last page of the log may still have space for a few writes.
    const kept = ["kept"];
    const full = await waitFor(async () => {
      const name = `until full ${kept.length} ${"x".repeat(200)}`;
      const response = await create(gatehouse, name);
      if (response.status !== 201) return response;
      kept.push(name);
      return null;
    });
    expectUnavailable(full, /no space/);
    await expectWritesFail(gatehouse, body.id, /no space/);
    expect(await namesOf(gatehouse)).toEqual(kept);
    rmSync(filler);
    await expectRecovery(gatehouse, kept);
    const database = new Database(join(dataDir, "gatehouse.db"), { readonly: true });
    expect(database.query("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
    database.close();
  }, 60_000);

  test("a database that another process has locked", async () => {
    const gatehouse = await start();
    await create(gatehouse, "kept");
    const other = new Database(join(gatehouse.dataDir, "gatehouse.db"));
    cleanups.push(() => other.close());
    other.run("BEGIN IMMEDIATE");
    other.run("UPDATE configuration SET revision = revision + 1000");
    expectUnavailable(await create(gatehouse, "rejected"), /busy|in time/);
    expect(await namesOf(gatehouse)).toEqual(["kept"]);
    other.run("ROLLBACK");
    await expectRecovery(gatehouse, ["kept"]);
  }, 60_000);

  test("many writes that wait for a lock fail together, not one deadline after the other", async () => {
    const gatehouse = await start();
    const other = new Database(join(gatehouse.dataDir, "gatehouse.db"));
    cleanups.push(() => other.close());
    other.run("BEGIN IMMEDIATE");
    // One after the other, they would exceed the timeout of this test.
    const responses = await Promise.all(Array.from({ length: 16 }, () => create(gatehouse, "rejected")));
    for (const response of responses) expectUnavailable(response, /busy|in time/);
    other.run("ROLLBACK");
    await expectRecovery(gatehouse, []);
  }, 60_000);

  test("a write waits for a lock that is released in time", async () => {
    const gatehouse = await start();
    const other = new Database(join(gatehouse.dataDir, "gatehouse.db"));
    cleanups.push(() => other.close());
    other.run("BEGIN IMMEDIATE");
    const waiting = ["first", "second", "third"].map((name) => create(gatehouse, name));
    // A read that is sent after the writes returns while they wait.
    expect(await namesOf(gatehouse)).toEqual([]);
    other.run("COMMIT");
    for (const response of await Promise.all(waiting)) expect(response.status).toBe(201);
    expect((await namesOf(gatehouse)).sort()).toEqual(["first", "second", "third"]);
  }, 60_000);
});

describe.skipIf(!hasPostgres)("PostgreSQL", () => {
  let cluster: PostgresCluster | undefined;
  const startOnPostgres = async () => {
    cluster ??= await startPostgres();
    const url = await cluster.createDatabase();
    return { cluster, url, gatehouse: await start({ DATABASE_URL: url }) };
  };

  test("a server that is read-only, as after a failover", async () => {
    const { url, gatehouse } = await startOnPostgres();
    const { body } = await create(gatehouse, "kept");
    const setReadOnly = (value: "on" | "off") =>
      withSql(url, async (sql) => {
        await sql.unsafe("SET default_transaction_read_only = off");
        await sql.unsafe(`ALTER SYSTEM SET default_transaction_read_only = ${value}`);
        await sql.unsafe("SELECT pg_reload_conf()");
      });
    cleanups.push(() => setReadOnly("off"));
    await setReadOnly("on");
    // The setting takes effect at the next command of a session. Until then writes succeed.
    const kept = ["kept"];
    await waitUntil(async () => {
      const name = `until read-only ${kept.length}`;
      if ((await create(gatehouse, name)).status === 503) return true;
      kept.push(name);
      return false;
    });
    await expectWritesFail(gatehouse, body.id, /read-only/);
    expect(await namesOf(gatehouse)).toEqual(kept);
    await setReadOnly("off");
    await expectRecovery(gatehouse, kept);
  }, 60_000);

  test("a user who may not write, and no rights at all at the start", async () => {
    cluster ??= await startPostgres();
    const owned = await cluster.createMigrated();
    const url = owned.replace("postgres@", "reader@");
    const setRights = (...statements: string[]) =>
      withSql(owned, async (sql) => {
        for (const statement of statements) await sql.unsafe(statement);
      });
    await setRights("CREATE ROLE reader LOGIN", "REVOKE ALL ON SCHEMA public FROM PUBLIC");
    const gatehouse = await startGatehouseProcess({ env: { DATABASE_URL: url }, notReady: true });
    cleanups.push(() => gatehouse.stop());
    const reason = /does not give the user in DATABASE_URL the rights/;
    expectUnavailable(await gatehouse.api("GET", "/gateways"), reason);
    await setRights(
      "GRANT USAGE ON SCHEMA public TO reader",
      "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader",
      "GRANT UPDATE ON configuration TO reader",
    );
    await waitUntil(async () => (await gatehouse.api("GET", "/gateways")).status === 200);
    expectUnavailable(await create(gatehouse, "rejected"), reason);
    await setRights("GRANT ALL ON ALL TABLES IN SCHEMA public TO reader");
    await expectRecovery(gatehouse, []);
  }, 60_000);

  test("a server that stops responding during writes and resumes later", async () => {
    const { cluster: postgres, url, gatehouse } = await startOnPostgres();
    const postmaster = postgres.pid();
    const signalAll = (signal: NodeJS.Signals) => {
      process.kill(postmaster, signal);
      const children = Bun.spawnSync(["pgrep", "-P", String(postmaster)])
        .stdout.toString()
        .split("\n");
      for (const child of children.filter((line) => line !== "")) {
        try {
          process.kill(Number(child), signal);
        } catch {
          // The child served a connection that was closed and has exited meanwhile.
        }
      }
    };
    cleanups.push(() => signalAll("SIGCONT"));
    const ledger = new Ledger();
    let isStopped = false;
    const writers = [1, 2].map(() => writeUntilStopped(gatehouse, ledger, () => isStopped));
    await waitUntil(() => ledger.acknowledgedWrites > 10);
    signalAll("SIGSTOP");
    isStopped = true;
    await Promise.all(writers);
    expect(ledger.unconfirmedWrites).toBeGreaterThan(0);
    const [write, read] = await Promise.all([
      create(gatehouse, "never created"),
      gatehouse.api("GET", "/gateways"),
    ]);
    expectUnavailable(write, /did not respond in time|cannot be reached/);
    expectUnavailable(read, /did not respond in time|cannot be reached/);
    const ready = await waitFor(async () => {
      const response = await fetch(`${gatehouse.adminUrl}/readyz`);
      const { store } = (await response.json()) as { store: { state: string } };
      return store.state === "away" ? response : null;
    });
    expect(ready.status).toBe(200);
    signalAll("SIGCONT");
    await waitUntil(async () => (await gatehouse.api("GET", "/gateways")).status === 200);
    // If the first write were only delayed, it would be done when a later one is.
    await ledger.write("after", "plain, 0 upstream, 0 service, 0 rule", async () => {
      const created = await waitFor(async () => {
        const response = await create(gatehouse, "after");
        return response.status === 201 ? response : null;
      });
      return created;
    });
    const states = await readStates(gatehouse);
    expect(states.has("never created")).toBe(false);
    ledger.verify(states);
    expect(ledger.falseRejections).toEqual([]);
    await checkDatabase(url, ledger.acknowledgedWrites, ledger.unconfirmedWrites);
  }, 60_000);
});
