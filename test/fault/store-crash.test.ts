// Kills the real process, or the real PostgreSQL, during writes: afterwards every acknowledged write is present, and no
// write is incomplete. GATEHOUSE_KILLS=200 is the full run.
import { describe, expect, test } from "bun:test";
import { checkDatabase, Ledger, NO_PARTS, readStates, writeUntilStopped } from "../contract/store-ledger.ts";
import { startGatehouseProcess, temporaryDirectory } from "../support/gatehouse-process.ts";
import { hasPostgres, sharedPostgres, startPostgres } from "../support/postgres.ts";
import { randomPause, waitUntil } from "../support/waiting.ts";

const KILLS = Number(process.env["GATEHOUSE_KILLS"] ?? 3);
const WRITERS = 6;
const MAX_DELAY_MS = 400;

async function killAndRestart(url: string, dataDir: string, env: Record<string, string>): Promise<string> {
  const ledger = new Ledger();
  // Enough for the longest run, because every revision is checked afterwards.
  const allKept = { ...env, REVISIONS_KEPT: "100000" };
  const start = () => startGatehouseProcess({ dataDir, env: allKept, keepData: true });
  for (let kill = 0; kill < KILLS; kill++) {
    const gatehouse = await start();
    ledger.verify(await readStates(gatehouse));
    let isStopped = false;
    const before = ledger.acknowledgedWrites;
    const writers = Array.from({ length: WRITERS }, () =>
      writeUntilStopped(gatehouse, ledger, () => isStopped),
    );
    await waitUntil(() => ledger.acknowledgedWrites > before);
    await randomPause(MAX_DELAY_MS);
    gatehouse.signal("SIGKILL");
    isStopped = true;
    await gatehouse.exited;
    await Promise.all(writers);
    await checkDatabase(url, ledger.acknowledgedWrites, ledger.unconfirmedWrites);
  }
  const last = await startGatehouseProcess({ dataDir, env: allKept });
  ledger.verify(await readStates(last));
  await last.stop();
  return `${KILLS} kills, ${ledger.acknowledgedWrites} writes acknowledged, ${ledger.unconfirmedWrites} unconfirmed`;
}

const report = (database: string, result: string) => {
  if (process.env["GATEHOUSE_KILLS"] !== undefined) process.stderr.write(`${database}: ${result}\n`);
};

describe("kill -9 during writes", () => {
  test("SQLite keeps every acknowledged write and no incomplete one", async () => {
    const dataDir = temporaryDirectory();
    report("SQLite", await killAndRestart(`sqlite://${dataDir}/gatehouse.db`, dataDir, {}));
  }, 600_000);

  test.skipIf(!hasPostgres)(
    "PostgreSQL keeps every acknowledged write and no incomplete one",
    async () => {
      const url = await (await sharedPostgres()).createDatabase();
      report("PostgreSQL", await killAndRestart(url, temporaryDirectory(), { DATABASE_URL: url }));
    },
    600_000,
  );
});

describe.skipIf(!hasPostgres)("PostgreSQL stopped immediately during writes", () => {
  test("the gateway keeps running, every acknowledged write is present, and writes recover", async () => {
    const cluster = await startPostgres();
    const url = await cluster.createDatabase();
    const gatehouse = await startGatehouseProcess({ env: { DATABASE_URL: url } });
    const ledger = new Ledger();
    for (let stop = 0; stop < Math.ceil(KILLS / 2); stop++) {
      let isStopped = false;
      const before = ledger.acknowledgedWrites;
      const writers = Array.from({ length: WRITERS }, () =>
        writeUntilStopped(gatehouse, ledger, () => isStopped),
      );
      await waitUntil(() => ledger.acknowledgedWrites > before);
      await randomPause(MAX_DELAY_MS);
      cluster.control("stop", "-m", "immediate");
      await waitUntil(async () => (await gatehouse.api("GET", "/gateways")).status === 503);
      isStopped = true;
      await Promise.all(writers);
      expect((await fetch(`${gatehouse.adminUrl}/readyz`)).status).toBe(200);
      cluster.control("start");
      await waitUntil(async () => (await gatehouse.api("GET", "/gateways")).status === 200);
      ledger.verify(await readStates(gatehouse));
      await checkDatabase(url, ledger.acknowledgedWrites, ledger.unconfirmedWrites);
    }
    const after = await ledger.write("after", `plain, ${NO_PARTS}`, () =>
      gatehouse.api("POST", "/gateways", { name: "after" }),
    );
    expect(after?.status).toBe(201);
    const result = `${ledger.acknowledgedWrites} writes acknowledged, ${ledger.unconfirmedWrites} unconfirmed, ${ledger.falseRejections.length} saved despite an error`;
    report("PostgreSQL stopped", `${Math.ceil(KILLS / 2)} stops, ${result}`);
    await gatehouse.stop();
    cluster.control("stop", "-m", "immediate");
  }, 600_000);
});
