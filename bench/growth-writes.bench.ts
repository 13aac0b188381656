// `npm run bench growth`: how loading, writing, and deleting scale with the number of gateways on one path and with the
// number of API keys. It uses the same code and SQLite as the Admin API, but in one process and without HTTP.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { CurrentConfiguration } from "../src/runtime/current-configuration.ts";
import type { Store } from "../src/store/store.ts";
import { Health } from "../src/telemetry/health.ts";
import { NO_LOG } from "../src/telemetry/log/log.ts";
import { compileContext } from "../test/support/compile-context.ts";
import { temporaryFolder, type Route } from "./gatehouse.ts";
import { median, printTable, quantile, type Measurement } from "./report.ts";
import { openSeededStore, seedApiKeys, seedGateways } from "./seed-records.ts";

const FEW = 100;
const MANY = 30_000;
const KEYS = 100_000;
const WRITES = 300;
const LOADS = 5;
const DELETIONS = 20;

export async function benchGrowth(): Promise<void> {
  const folder = temporaryFolder();
  const few = await seeded(folder, "few", FEW);
  const many = await seeded(folder, "many", MANY);
  const keys = await seeded(folder, "keys", DELETIONS + 1);
  const [withKeys, ...deleted] = keys.routes;
  if (withKeys === undefined) throw new Error("no gateway was seeded");
  await seedApiKeys(keys.dataDir, withKeys, KEYS);
  for (const route of deleted) await seedApiKeys(keys.dataDir, route, 3);
  printTable(`Growth: gateways that share one path, and API keys of other gateways`, [
    await writeGrowth(few, many),
    await loadTime(many),
    await deletion(keys.dataDir, deleted),
  ]);
}

interface Seeded {
  readonly dataDir: string;
  readonly routes: readonly Route[];
}

async function seeded(folder: string, name: string, gateways: number): Promise<Seeded> {
  const dataDir = join(folder, name);
  mkdirSync(dataDir);
  return { dataDir, routes: await seedGateways(dataDir, gateways) };
}

async function load(dataDir: string): Promise<{ store: Store; current: CurrentConfiguration }> {
  const store = openSeededStore(dataDir);
  await store.revision();
  const current = new CurrentConfiguration(store, compileContext(), new Health(), NO_LOG);
  await current.refresh();
  return { store, current };
}

/** Alternates between the two configurations, so that a busy moment of the machine affects both. */
async function writeGrowth(...seeds: readonly [Seeded, Seeded]): Promise<Measurement> {
  const nodes = await Promise.all(
    seeds.map(async ({ dataDir, routes }) => ({
      ...(await load(dataDir)),
      routes,
      times: new Array<number>(),
    })),
  );
  for (let round = -20; round < WRITES; round++) {
    for (const { current, routes, times } of nodes) {
      const startedAt = performance.now();
      await changeRule(current, routes.at(round) ?? routes[0]!, round);
      if (round >= 0) times.push(performance.now() - startedAt);
    }
  }
  for (const { store } of nodes) await store.close();
  const [few = Number.NaN, many = Number.NaN] = nodes.map(({ times }) => median(times));
  return {
    what: `durable write at ${shown(MANY)} gateways, to ${FEW}`,
    value: many / few,
    unit: "×",
    atMost: 1.5,
    note: `p50 ${many.toFixed(2)} ms and ${few.toFixed(2)} ms`,
  };
}

async function changeRule(current: CurrentConfiguration, { rule }: Route, priority: number): Promise<void> {
  await current.write(async (transaction) => {
    const stored = await transaction.get("rules", rule);
    if (stored !== null) await transaction.update("rules", { ...stored, priority });
  });
}

async function loadTime({ dataDir }: Seeded): Promise<Measurement> {
  const times: number[] = [];
  const cpuTimes: number[] = [];
  for (let round = 0; round < LOADS; round++) {
    const startedAt = performance.now();
    const cpuBefore = process.cpuUsage();
    const { store } = await load(dataDir);
    times.push((performance.now() - startedAt) / 1000);
    cpuTimes.push(cpuMsSince(cpuBefore) / 1000);
    await store.close();
  }
  // Other load on the machine only ever makes loading slower, so the fastest time is the best estimate.
  return {
    what: `load ${shown(MANY)} gateways, fastest of ${LOADS}`,
    value: Math.min(...times),
    unit: "s",
    atMost: 1.5,
    note: `median ${median(times).toFixed(2)} s, CPU ${median(cpuTimes).toFixed(2)} s`,
  };
}

/** Deletes gateways of three keys each while another gateway has all the other keys. */
async function deletion(dataDir: string, routes: readonly Route[]): Promise<Measurement> {
  const { store, current } = await load(dataDir);
  const blocked: number[] = [];
  const cpuTimes: number[] = [];
  for (const { gateway } of routes) {
    const cpuBefore = process.cpuUsage();
    const watch = watchEventLoop();
    await current.write((transaction) => transaction.removeGateway(gateway, true));
    blocked.push(watch.longestBlockMs());
    cpuTimes.push(cpuMsSince(cpuBefore));
    await Bun.sleep(5);
  }
  await store.close();
  return {
    what: `event loop blocked by deleting a gateway, ${shown(KEYS)} keys elsewhere`,
    value: median(blocked),
    unit: "ms",
    atMost: 5,
    note: `longest of ${routes.length}: ${quantile(blocked, 1).toFixed(2)} ms, CPU of a deletion ${median(cpuTimes).toFixed(2)} ms`,
  };
}

/** Runs a callback in every turn of the event loop. The longest time between two turns is the longest block. */
function watchEventLoop(): { longestBlockMs(): number } {
  let last = performance.now();
  let longest = 0;
  let isWatching = true;
  const turn = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (isWatching) setImmediate(turn);
  };
  setImmediate(turn);
  return {
    longestBlockMs() {
      isWatching = false;
      turn();
      return longest;
    },
  };
}

/** Unlike elapsed time, CPU time hardly depends on what else runs on the machine. */
function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

function shown(count: number): string {
  return count.toLocaleString("en");
}
