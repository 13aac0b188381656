// A disk that fails under SQLite: writes that fail, and syncs that end in EIO. Writes get a 503, reads continue, the gateway
// recovers without a restart, and after a restart exactly the acknowledged writes are present.
import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import {
  startGatehouseProcess,
  temporaryDirectory,
  type GatehouseProcess,
} from "../support/gatehouse-process.ts";
import { waitUntil } from "../support/waiting.ts";

setDefaultTimeout(60_000);

async function namesOf(gatehouse: GatehouseProcess): Promise<string[]> {
  const { status, body } = await gatehouse.api("GET", "/gateways?limit=1000");
  expect(status).toBe(200);
  return (body.gateways as { name: string }[]).map(({ name }) => name);
}

const create = (gatehouse: GatehouseProcess, name: string) => gatehouse.api("POST", "/gateways", { name });

type Repair = () => Promise<void>;

/** Makes the disk fail with `breakDisk`, repairs it, and checks that only acknowledged writes are present. */
async function expectOnlyAcknowledgedWrites(
  breakDisk: (gatehouse: GatehouseProcess, dataDir: string) => Repair | Promise<Repair | null>,
): Promise<void> {
  const dataDir = temporaryDirectory();
  const gatehouse = await startGatehouseProcess({ dataDir, keepData: true });
  const kept = ["before"];
  expect((await create(gatehouse, "before")).status).toBe(201);
  const repair = await breakDisk(gatehouse, dataDir);
  if (repair === null) {
    await gatehouse.stop();
    return;
  }
  try {
    for (let times = 0; times < 5; times++) {
      const { status, body } = await create(gatehouse, `rejected ${times}`);
      expect([status, body.code, body.error]).toEqual([
        503,
        "store_unavailable",
        expect.stringContaining("disk error"),
      ]);
    }
    expect(await namesOf(gatehouse)).toEqual(kept);
  } finally {
    await repair();
  }
  await waitUntil(async () => (await create(gatehouse, "after")).status === 201);
  kept.push("after");
  expect(await namesOf(gatehouse)).toEqual(kept);
  gatehouse.signal("SIGKILL");
  await gatehouse.exited;
  const again = await startGatehouseProcess({ dataDir, keepData: true });
  expect(await namesOf(again)).toEqual(kept);
  await again.stop();
  const database = new Database(join(dataDir, "gatehouse.db"), { readonly: true });
  expect(database.query("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
  database.close();
  rmSync(dataDir, { recursive: true, force: true });
}

test.concurrent("writes that fail because the files cannot grow", () =>
  expectOnlyAcknowledgedWrites(({ pid }, dataDir) => {
    const limitFiles = (bytes: string): Promise<void> => {
      const limited = Bun.spawnSync(["prlimit", "--pid", String(pid), `--fsize=${bytes}:`]);
      expect(limited.exitCode).toBe(0);
      return Promise.resolve();
    };
    void limitFiles(String(statSync(join(dataDir, "gatehouse.db-wal")).size));
    return () => limitFiles("unlimited");
  }),
);

const strace = Bun.which("strace");

/** Makes every fsync of a process fail. Returns null if tracing is not possible or not permitted. */
async function failSyncs(pid: number): Promise<Repair | null> {
  if (strace === null) return null;
  const inject = ["-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:error=EIO"];
  const tracer = Bun.spawn([strace, "-f", "-p", String(pid), ...inject, "-o", "/dev/null"], {
    stderr: "pipe",
  });
  const { value } = await tracer.stderr.getReader().read();
  if (!new TextDecoder().decode(value).includes("attached")) return null;
  return async () => {
    tracer.kill("SIGINT");
    await tracer.exited;
  };
}

test.concurrent("syncs that fail with EIO", () =>
  expectOnlyAcknowledgedWrites(async ({ pid }) => {
    const repair = await failSyncs(pid);
    if (repair === null)
      process.stderr.write(
        "\n!!! strace cannot trace processes here, so the test of failing syncs is SKIPPED\n\n",
      );
    return repair;
  }),
);
