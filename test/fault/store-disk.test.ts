// A disk that fails under SQLite: writes that do not go through, and syncs that end in EIO. 5xx and never 2xx, reads go on,
// it works again without a restart, and after a restart exactly what was acknowledged is there.
import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import {
  startGatehouseProcess,
  temporaryDirectory,
  waitFor,
  type GatehouseProcess,
} from "../support/gatehouse-process.ts";

setDefaultTimeout(60_000);

async function namesOf(gatehouse: GatehouseProcess): Promise<string[]> {
  const { status, body } = await gatehouse.api("GET", "/gateways?limit=1000");
  expect(status).toBe(200);
  return (body.gateways as { name: string }[]).map(({ name }) => name);
}

const create = (gatehouse: GatehouseProcess, name: string) => gatehouse.api("POST", "/gateways", { name });

type Mend = () => Promise<void>;

/** Lets the disk fail and mends it, through `breakDisk`; whatever it does, the records tell the truth. */
async function expectHonesty(
  breakDisk: (gatehouse: GatehouseProcess, dataDir: string) => Mend | Promise<Mend | null>,
): Promise<void> {
  const dataDir = temporaryDirectory();
  const gatehouse = await startGatehouseProcess({ dataDir, keepData: true });
  const kept = ["before"];
  expect((await create(gatehouse, "before")).status).toBe(201);
  const mend = await breakDisk(gatehouse, dataDir);
  if (mend === null) {
    await gatehouse.stop();
    return;
  }
  try {
    for (let times = 0; times < 5; times++) {
      const { status, body } = await create(gatehouse, `refused ${times}`);
      expect([status, body.code, body.error]).toEqual([
        503,
        "store_unavailable",
        expect.stringContaining("disk error"),
      ]);
    }
    expect(await namesOf(gatehouse)).toEqual(kept);
  } finally {
    await mend();
  }
  await waitFor(async () => ((await create(gatehouse, "after")).status === 201 ? true : null));
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

test.concurrent("writes that fail: the files may not grow any more", () =>
  expectHonesty(({ pid }, dataDir) => {
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

/** Attaches to a process so that every fsync of it fails; null where that is not possible or not permitted. */
async function failSyncs(pid: number): Promise<Mend | null> {
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

test.concurrent("syncs that fail: EIO from every fsync", () =>
  expectHonesty(async ({ pid }) => {
    const mend = await failSyncs(pid);
    if (mend === null)
      process.stderr.write(
        "\n!!! No process can be traced with strace here, so failing syncs are SKIPPED\n\n",
      );
    return mend;
  }),
);
