// The database in trouble under a running gateway: read-only, full, locked, silent. Always a 503 that says why,
// never a 2xx, nothing half-done, and working again by itself once the trouble is over.
import { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import { chmodSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkDatabase, Ledger, readStates, writeUntilStopped } from "../contract/store-ledger.ts";
import { withSql } from "../contract/store-records.ts";
import {
  startGatehouseProcess,
  temporaryDirectory,
  waitFor,
  type ApiResponse,
  type GatehouseProcess,
} from "../support/gatehouse-process.ts";
import { hasPostgres, startPostgres, type PostgresCluster } from "../support/postgres.ts";

const isRoot = process.getuid?.() === 0;
const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Runs a command that needs privileges. Where it is not permitted the test is skipped loudly; in CI that is a failure. */
function permitted(what: string, ...command: string[]): boolean {
  if (Bun.spawnSync(command).exitCode === 0) return true;
  const sentence = `${what} is not possible here (${command.join(" ")}), so its test is SKIPPED`;
  if (process.env["CI"] === "true") throw new Error(`${sentence}; in CI that is a failure`);
  process.stderr.write(`\n!!! ${sentence}\n\n`);
  return false;
}

async function start(env: Record<string, string> = {}, dataDir = temporaryDirectory()) {
  const gatehouse = await startGatehouseProcess({ env, dataDir, keepData: true });
  cleanups.push(() => gatehouse.stop());
  process.on("exit", () => rmSync(dataDir, { recursive: true, force: true }));
  return gatehouse;
}

const create = (gatehouse: GatehouseProcess, name: string) => gatehouse.api("POST", "/gateways", { name });

async function namesOf(gatehouse: GatehouseProcess): Promise<string[]> {
  const { status, body } = await gatehouse.api("GET", "/gateways?limit=1000");
  expect(status).toBe(200);
  return (body.gateways as { name: string }[]).map(({ name }) => name);
}

/** The error shape, with a reason that an operator can act on. */
function expectUnavailable(answer: ApiResponse, reason: RegExp): void {
  expect(answer.status).toBe(503);
  expect(Object.keys(answer.body).sort()).toEqual(["code", "error", "request_id"]);
  expect(answer.body.code).toBe("store_unavailable");
  expect(answer.body.error).toMatch(reason);
  expect(answer.body.request_id).toBe(answer.headers.get("x-request-id"));
  expect(answer.headers.get("retry-after")).toMatch(/^\d+$/);
}

/** Every kind of write, not only the simplest. */
async function expectNoWriteWorks(gatehouse: GatehouseProcess, id: string, reason: RegExp): Promise<void> {
  expectUnavailable(await create(gatehouse, "refused"), reason);
  expectUnavailable(await gatehouse.api("PATCH", `/gateways/${id}`, { name: "refused" }), reason);
  expectUnavailable(await gatehouse.api("DELETE", `/gateways/${id}`), reason);
  expectUnavailable(await gatehouse.api("POST", "/iam/api-keys", { name: "refused", subject: id }), reason);
}

async function expectWorksAgain(gatehouse: GatehouseProcess, names: readonly string[]): Promise<void> {
  await waitFor(async () => ((await create(gatehouse, "after")).status === 201 ? true : null));
  expect(await namesOf(gatehouse)).toEqual([...names, "after"]);
  expect((await gatehouse.api("GET", "/iam/api-keys")).body.count).toBe(0);
}

describe("SQLite in trouble", () => {
  test("a file that is read-only for this process", async () => {
    const dataDir = temporaryDirectory();
    const file = join(dataDir, "gatehouse.db");
    const before = await start({}, dataDir);
    const { body } = await create(before, "kept");
    before.signal("SIGTERM");
    expect(await before.exited).toBe(0);
    // Root may write to whatever its mode says, but not to an immutable file.
    if (isRoot && !permitted("an immutable file", "chattr", "+i", file)) return;
    if (!isRoot) chmodSync(file, 0o444);
    const allowWrites = () => (isRoot ? void Bun.spawnSync(["chattr", "-i", file]) : chmodSync(file, 0o644));
    cleanups.push(allowWrites);
    const gatehouse = await start({}, dataDir);
    expect(await namesOf(gatehouse)).toEqual(["kept"]);
    await expectNoWriteWorks(gatehouse, body.id, /read-only/);
    expect(await namesOf(gatehouse)).toEqual(["kept"]);
    allowWrites();
    await expectWorksAgain(gatehouse, ["kept"]);
  }, 30_000);

  test("files that turn immutable under a running process", async () => {
    const gatehouse = await start();
    const { body } = await create(gatehouse, "kept");
    const files = ["gatehouse.db", "gatehouse.db-wal"].map((name) => join(gatehouse.dataDir, name));
    if (!permitted("an immutable file", "chattr", "+i", ...files)) return;
    cleanups.push(() => void Bun.spawnSync(["chattr", "-i", ...files]));
    await expectNoWriteWorks(gatehouse, body.id, /disk error|read-only/);
    expect(await namesOf(gatehouse)).toEqual(["kept"]);
    Bun.spawnSync(["chattr", "-i", ...files]);
    await expectWorksAgain(gatehouse, ["kept"]);
  }, 30_000);

  test("a full disk", async () => {
    const dataDir = temporaryDirectory();
    if (!permitted("a small disk", "mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", dataDir)) return;
    cleanups.push(() => void Bun.spawnSync(["umount", "-l", dataDir]));
    const gatehouse = await start({}, dataDir);
    const { body } = await create(gatehouse, "kept");
    const filler = join(dataDir, "filler");
    expect(() => writeFileSync(filler, Buffer.alloc(1 << 20))).toThrow("ENOSPC");
    // What is left of the last page of the log may still take a write or two: those are as good as any.
    const kept = ["kept"];
    const full = await waitFor(async () => {
      const name = `until full ${kept.length} ${"x".repeat(200)}`;
      const answer = await create(gatehouse, name);
      if (answer.status !== 201) return answer;
      kept.push(name);
      return null;
    });
    expectUnavailable(full, /no space/);
    await expectNoWriteWorks(gatehouse, body.id, /no space/);
    expect(await namesOf(gatehouse)).toEqual(kept);
    rmSync(filler);
    await expectWorksAgain(gatehouse, kept);
    const database = new Database(join(dataDir, "gatehouse.db"), { readonly: true });
    expect(database.query("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
    database.close();
  }, 30_000);

  test("a database that another process has locked", async () => {
    const gatehouse = await start();
    await create(gatehouse, "kept");
    const other = new Database(join(gatehouse.dataDir, "gatehouse.db"));
    cleanups.push(() => other.close());
    other.run("BEGIN IMMEDIATE");
    other.run("UPDATE configuration SET revision = revision + 1000");
    expectUnavailable(await create(gatehouse, "refused"), /busy|in time/);
    expect(await namesOf(gatehouse)).toEqual(["kept"]);
    other.run("ROLLBACK");
    await expectWorksAgain(gatehouse, ["kept"]);
  }, 30_000);

  test("many writes behind a lock are refused together, not one deadline after the other", async () => {
    const gatehouse = await start();
    const other = new Database(join(gatehouse.dataDir, "gatehouse.db"));
    cleanups.push(() => other.close());
    other.run("BEGIN IMMEDIATE");
    const writes = Promise.all(Array.from({ length: 8 }, () => create(gatehouse, "refused")));
    const answers = await Promise.race([writes, Bun.sleep(8000)]);
    expect(answers?.length).toBe(8);
    for (const answer of answers ?? []) expectUnavailable(answer, /busy|in time/);
    other.run("ROLLBACK");
    await expectWorksAgain(gatehouse, []);
  }, 30_000);

  test("a lock that is let go of in time is only a wait", async () => {
    const gatehouse = await start();
    const other = new Database(join(gatehouse.dataDir, "gatehouse.db"));
    cleanups.push(() => other.close());
    other.run("BEGIN IMMEDIATE");
    const waiting = ["first", "second", "third"].map((name) => create(gatehouse, name));
    await Bun.sleep(300);
    other.run("COMMIT");
    for (const answer of await Promise.all(waiting)) expect(answer.status).toBe(201);
    expect((await namesOf(gatehouse)).sort()).toEqual(["first", "second", "third"]);
  }, 30_000);
});

describe.skipIf(!hasPostgres)("PostgreSQL in trouble", () => {
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
    // The setting reaches a session at its next command; until then writes are as good as any.
    const kept = ["kept"];
    await waitFor(async () => {
      const name = `until read-only ${kept.length}`;
      if ((await create(gatehouse, name)).status === 503) return true;
      kept.push(name);
      return null;
    });
    await expectNoWriteWorks(gatehouse, body.id, /read-only/);
    expect(await namesOf(gatehouse)).toEqual(kept);
    await setReadOnly("off");
    await expectWorksAgain(gatehouse, kept);
  }, 30_000);

  test("a server that stops answering in the middle of writes, and goes on later", async () => {
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
          // It served a connection that was given up, and has ended meanwhile.
        }
      }
    };
    cleanups.push(() => signalAll("SIGCONT"));
    const ledger = new Ledger();
    let silent = false;
    const writers = [1, 2].map(() => writeUntilStopped(gatehouse, ledger, () => silent));
    await waitFor(() => (ledger.acknowledgedWrites > 10 ? true : null));
    signalAll("SIGSTOP");
    silent = true;
    await Promise.all(writers);
    expect(ledger.unconfirmedWrites).toBeGreaterThan(0);
    const [write, read] = await Promise.all([
      create(gatehouse, "asked in vain"),
      gatehouse.api("GET", "/gateways"),
    ]);
    expectUnavailable(write, /did not respond in time|cannot be reached/);
    expectUnavailable(read, /did not respond in time|cannot be reached/);
    const ready = await waitFor(async () => {
      const answer = await fetch(`${gatehouse.adminUrl}/readyz`);
      const { store } = (await answer.json()) as { store: { state: string } };
      return store.state === "away" ? answer : null;
    });
    expect(ready.status).toBe(200);
    signalAll("SIGCONT");
    await waitFor(async () => ((await gatehouse.api("GET", "/gateways")).status === 200 ? true : null));
    // Had the write been only late, it would be done by the time that a later one is.
    await ledger.write("after", "plain, 0 upstream, 0 service, 0 rule", async () => {
      const made = await waitFor(async () => {
        const answer = await create(gatehouse, "after");
        return answer.status === 201 ? answer : null;
      });
      return made;
    });
    const states = await readStates(gatehouse);
    expect(states.has("asked in vain")).toBe(false);
    ledger.verify(states);
    expect(ledger.falseRejections).toEqual([]);
    await checkDatabase(url, ledger.acknowledgedWrites, ledger.unconfirmedWrites);
  }, 60_000);
});
