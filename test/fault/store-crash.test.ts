// Kills the real process, and the real PostgreSQL, in the middle of writes: what was acknowledged is there afterwards,
// and nothing is half-written. GATEHOUSE_KILLS=200 makes it the full run.
import { describe, expect, test } from "bun:test";
import { checkDatabase, Ledger, NO_PARTS, readStates, writeUntilStopped } from "../contract/store-ledger.ts";
import { startGatehouseProcess, temporaryDirectory, waitFor } from "../support/gatehouse-process.ts";
import { hasPostgres, sharedPostgres, startPostgres } from "../support/postgres.ts";

const KILLS = Number(process.env["GATEHOUSE_KILLS"] ?? 3);
const WRITERS = 6;
const MAX_DELAY_MS = 400;

async function killAndRestart(url: string, dataDir: string, env: Record<string, string>): Promise<string> {
  const ledger = new Ledger();
  // So many that none is let go of in the longest run: each is looked for afterwards.
  const allKept = { ...env, REVISIONS_KEPT: "100000" };
  const start = () => startGatehouseProcess({ dataDir, env: allKept, keepData: true });
  for (let kill = 0; kill < KILLS; kill++) {
    const gatehouse = await start();
    ledger.verify(await readStates(gatehouse));
    let gone = false;
    const before = ledger.acknowledgedWrites;
    const writers = Array.from({ length: WRITERS }, () => writeUntilStopped(gatehouse, ledger, () => gone));
    await waitFor(() => (ledger.acknowledgedWrites > before ? true : null));
    await Bun.sleep(Math.random() * MAX_DELAY_MS);
    gatehouse.signal("SIGKILL");
    gone = true;
    await gatehouse.exited;
    await Promise.all(writers);
    await checkDatabase(url, ledger.acknowledgedWrites, ledger.unconfirmedWrites);
  }
  const last = await startGatehouseProcess({ dataDir, env: allKept });
  ledger.verify(await readStates(last));
  await last.stop();
  return `${KILLS} kills, ${ledger.acknowledgedWrites} writes acknowledged, ${ledger.unconfirmedWrites} cut off`;
}

const report = (database: string, figures: string) => {
  if (process.env["GATEHOUSE_KILLS"] !== undefined) process.stderr.write(`${database}: ${figures}\n`);
};

describe("kill -9 in the middle of writes", () => {
  test("SQLite keeps every acknowledged write and no half of one", async () => {
    const dataDir = temporaryDirectory();
    report("SQLite", await killAndRestart(`sqlite://${dataDir}/gatehouse.db`, dataDir, {}));
  }, 600_000);

  test.skipIf(!hasPostgres)(
    "PostgreSQL keeps every acknowledged write and no half of one",
    async () => {
      const url = await (await sharedPostgres()).createDatabase();
      report("PostgreSQL", await killAndRestart(url, temporaryDirectory(), { DATABASE_URL: url }));
    },
    600_000,
  );
});

describe.skipIf(!hasPostgres)("PostgreSQL itself stopped at once in the middle of writes", () => {
  test("the process lives on; what was acknowledged is there, and writes work again by themselves", async () => {
    const cluster = await startPostgres();
    const url = await cluster.createDatabase();
    const gatehouse = await startGatehouseProcess({ env: { DATABASE_URL: url } });
    const ledger = new Ledger();
    for (let stop = 0; stop < Math.ceil(KILLS / 2); stop++) {
      let gone = false;
      const before = ledger.acknowledgedWrites;
      const writers = Array.from({ length: WRITERS }, () => writeUntilStopped(gatehouse, ledger, () => gone));
      await waitFor(() => (ledger.acknowledgedWrites > before ? true : null));
      await Bun.sleep(Math.random() * MAX_DELAY_MS);
      cluster.control("stop", "-m", "immediate");
      await waitFor(async () => ((await gatehouse.api("GET", "/gateways")).status === 503 ? true : null));
      gone = true;
      await Promise.all(writers);
      expect((await fetch(`${gatehouse.adminUrl}/readyz`)).status).toBe(200);
      cluster.control("start");
      await waitFor(async () => ((await gatehouse.api("GET", "/gateways")).status === 200 ? true : null));
      ledger.verify(await readStates(gatehouse));
      await checkDatabase(url, ledger.acknowledgedWrites, ledger.unconfirmedWrites);
    }
    const after = await ledger.write("after it all", `plain, ${NO_PARTS}`, () =>
      gatehouse.api("POST", "/gateways", { name: "after it all" }),
    );
    expect(after?.status).toBe(201);
    const figures = `${ledger.acknowledgedWrites} writes acknowledged, ${ledger.unconfirmedWrites} refused or cut off, ${ledger.falseRejections.length} done although denied`;
    report("PostgreSQL stopped", `${Math.ceil(KILLS / 2)} stops, ${figures}`);
    await gatehouse.stop();
    cluster.control("stop", "-m", "immediate");
  }, 600_000);
});
