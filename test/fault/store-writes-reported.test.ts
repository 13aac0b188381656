// A database that can be read but not written is reported where operators look: /readyz, metrics, `status`, `doctor` and the log. The
// gateway stays ready, and the report ends when writes succeed again. Nobody writes anything meanwhile: the gateway finds out by itself.
import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { withSql } from "../contract/store-records.ts";
import {
  startGatehouseProcess,
  temporaryDirectory,
  untilPrinted,
  type GatehouseProcess,
} from "../support/gatehouse-process.ts";
import { hasPostgres, sharedPostgres } from "../support/postgres.ts";
import { runCommand, settingsOf } from "../support/run-command.ts";
import { waitFor } from "../support/waiting.ts";

setDefaultTimeout(120_000);

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Readiness {
  readonly status: string;
  readonly store: { readonly state: string; readonly detail?: string; readonly since?: string };
}

async function readinessOf(gatehouse: GatehouseProcess): Promise<Readiness> {
  const response = await fetch(`${gatehouse.adminUrl}/readyz`);
  expect(response.status).toBe(200);
  return (await response.json()) as Readiness;
}

const storeWhen = (gatehouse: GatehouseProcess, state: string) =>
  waitFor(async () => {
    const { store } = await readinessOf(gatehouse);
    return store.state === state ? store : null;
  });

async function metric(gatehouse: GatehouseProcess, name: string): Promise<number> {
  const text = await (await fetch(`${gatehouse.adminUrl}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
}

async function expectReported(gatehouse: GatehouseProcess, reason: RegExp): Promise<void> {
  const { since = "", detail } = await storeWhen(gatehouse, "read_only");
  expect(detail).toMatch(reason);
  expect(new Date(since).toISOString()).toBe(since);
  expect(await metric(gatehouse, "gatehouse_store_up")).toBe(0);
  expect(await metric(gatehouse, "gatehouse_store_failing_since_seconds")).toBe(Date.parse(since) / 1000);
  const status = await runCommand(["status"], settingsOf(gatehouse));
  expect(status.stdout).toMatch(new RegExp(`store +rejects writes since ${since}: .*${reason.source}`));
  expect(status.code).toBe(0);
  const doctor = await runCommand(["doctor", "--json"], settingsOf(gatehouse));
  expect(doctor.code).toBe(1);
  const { checks } = JSON.parse(doctor.stdout) as {
    checks: { name: string; state: string; detail: string }[];
  };
  const found = checks.filter(({ name, state }) => name === "store" && state === "fail");
  expect(found.map((check) => check.detail)).toEqual([
    expect.stringContaining(`the running gateway cannot write to its database since ${since}`),
  ]);
  await untilPrinted(gatehouse, "store rejects writes");
}

async function expectRecovered(gatehouse: GatehouseProcess): Promise<void> {
  expect(await storeWhen(gatehouse, "ok")).toEqual({ state: "ok" });
  expect(await metric(gatehouse, "gatehouse_store_up")).toBe(1);
  expect(await metric(gatehouse, "gatehouse_store_failing_since_seconds")).toBe(0);
}

/** A file system of its own that can be filled. Not every environment may mount one. */
function smallDisk(): string | null {
  const directory = temporaryDirectory();
  const { exitCode } = Bun.spawnSync(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", directory]);
  if (exitCode !== 0) {
    process.stderr.write(
      "\n!!! a small disk cannot be mounted here, so the test of a full disk is SKIPPED\n\n",
    );
    return null;
  }
  cleanups.push(() => void Bun.spawnSync(["umount", "-l", directory]));
  return directory;
}

/** Fills the disk to its last byte. */
function fill(directory: string): void {
  for (const size of [1 << 20, 1 << 12, 1])
    for (let files = 0; files < 2000; files++)
      try {
        writeFileSync(join(directory, `${size}-${files}`), Buffer.alloc(size));
      } catch {
        break;
      }
}

test("a full disk", async () => {
  const disk = smallDisk();
  if (disk === null) return;
  const dataDir = join(disk, "data");
  mkdirSync(dataDir);
  const gatehouse = await startGatehouseProcess({ dataDir, keepData: true });
  cleanups.push(() => gatehouse.stop());
  await storeWhen(gatehouse, "ok");
  const filler = join(disk, "filler");
  mkdirSync(filler);
  fill(filler);
  await expectReported(gatehouse, /no space/);
  const { stdout } = await runCommand(["doctor"], settingsOf(gatehouse));
  expect(stdout).toContain(`the disk of DATA_DIR ${dataDir} is full`);
  rmSync(filler, { recursive: true });
  await expectRecovered(gatehouse);
});

test.skipIf(!hasPostgres)("a PostgreSQL that has become read-only", async () => {
  const postgres = await sharedPostgres();
  const url = await postgres.createDatabase();
  const gatehouse = await startGatehouseProcess({ env: { DATABASE_URL: url } });
  cleanups.push(() => gatehouse.stop());
  await storeWhen(gatehouse, "ok");
  const name = new URL(url).pathname.slice(1);
  const setReadOnly = (value: string) =>
    withSql(url, async (sql) => {
      await sql.unsafe("SET default_transaction_read_only = off");
      await sql.unsafe(`ALTER DATABASE "${name}" SET default_transaction_read_only = ${value}`);
      await sql.unsafe(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
      );
    });
  await setReadOnly("on");
  await expectReported(gatehouse, /read-only/);
  await setReadOnly("off");
  await expectRecovered(gatehouse);
});
