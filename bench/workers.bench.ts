// `npm run bench:workers`: throughput and CPU time per request of one worker process and of several, with counters in Redis. All of them are
// started first and then measured in turn, because the speed of a machine changes within minutes.
// Flags: --rounds 12 --seconds 1 --connections 128 --workers 1,2 --only bare,full --out file.json
//        --cores 0-7 gives the gateway as many cores as workers, the load generator and the provider other ones, and measures
//        1, 2, 4, … workers
// Without --cores, or with fewer than four cores, the workers share one core, so that the load generator does not disturb them;
// the CPU time per request is then comparable, the throughput is not.
import { mkdirSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { hasRedis, startRedis } from "../test/support/redis.ts";
import { CHAT_PATH, chatBody } from "./chat-payload.ts";
import { parseCores, planCores, workerCounts, type CorePlan } from "./core-plan.ts";
import { GATEWAY_CORE, reserveGatewayCore, OTHER_CORES } from "./cores.ts";
import { parseNumbers, readFlags } from "./flags.ts";
import { seedBare, seedKeyed } from "./full-gatehouse.ts";
import { startGatehouse, temporaryFolder, type Gatehouse } from "./gatehouse.ts";
import { saveResults, printGrid, formatRatio, formatNumber } from "./grid.ts";
import { warm } from "./measure-round.ts";
import { INSTALL_NGINX, nginx, startNginxProvider } from "./nginx.ts";
import { usageOf } from "./process-usage.ts";
import { median } from "./report.ts";
import { INSTALL_WRK, runWrk, wrk, type Load } from "./wrk.ts";
import { freePort } from "../test/support/free-port.ts";

const flags = readFlags("bench:workers", {
  rounds: 12,
  seconds: 1,
  connections: 128,
  workers: "1,2",
  cores: "",
  only: "bare,full",
  out: "",
});
if (wrk === null || nginx === null || !hasRedis) {
  console.log(
    `SKIPPED: this needs wrk (${INSTALL_WRK}), nginx (${INSTALL_NGINX}) and Redis (apt-get install redis-server).`,
  );
  process.exit(0);
}
/** Connections that saturate a worker. */
const CONNECTIONS_PER_WORKER = 64;
/** Requests before the measurement, for each worker: the compiler still works after fewer. */
const WARM_REQUESTS = 100_000;

const plan = readPlan();
const counts = plan === null ? parseNumbers(flags.workers) : workerCounts(plan.gateway.length);
const loadCores = plan === null ? OTHER_CORES : plan.load.join(",");
reserveGatewayCore();
if (plan !== null) Bun.spawnSync(["taskset", "-apc", loadCores, String(process.pid)]);
const folder = temporaryFolder();
const providerPort = freePort();
if (plan === null) startNginxProvider(folder, providerPort, OTHER_CORES);
else startNginxProvider(folder, providerPort, plan.provider.join(","), plan.provider.length);
const bodyFile = join(folder, "body.json");
writeFileSync(bodyFile, chatBody());
const redis = await startRedis(["--appendonly", "no"]);

interface Sample {
  readonly requestsPerSecond: number;
  readonly cpuMicroseconds: number;
  readonly processes: number;
  readonly failed: number;
}

interface Setup {
  readonly kind: string;
  readonly workers: number;
  readonly gatehouse: Gatehouse;
  readonly load: Omit<Load, "seconds">;
  readonly samples: Sample[];
}

const setups: Setup[] = [];
for (const kind of flags.only.split(","))
  for (const workers of counts) setups.push(await setUp(kind, workers));
for (const { load, workers } of setups) await warm(load, flags.seconds, WARM_REQUESTS * workers);
for (let round = 0; round < flags.rounds; round++)
  for (const setup of round % 2 === 0 ? setups : setups.toReversed()) setup.samples.push(await sample(setup));
for (const { gatehouse } of setups) await gatehouse.stop();
await redis.stop();
if (setups.some(({ workers, samples }) => samples.some(({ processes }) => processes < workers)))
  console.log("Fewer processes than WORKERS: the setting has no effect here.");

const connectionsNote =
  plan === null
    ? `${flags.connections} connections`
    : `at least ${CONNECTIONS_PER_WORKER} connections per worker`;
const middle = ({ samples }: Setup, field: keyof Sample) => median(samples.map((each) => each[field]));
/** The median of the ratios within a round. */
const ratio = ({ samples }: Setup, first: Setup, field: keyof Sample) =>
  formatRatio(
    median(samples.map((each, round) => each[field] / (first.samples[round]?.[field] ?? Number.NaN))),
    1,
  );
printGrid(
  `Workers${plan === null ? " that share a core" : ", as many cores as workers"}: ${connectionsNote}, ${flags.rounds} rounds of ${flags.seconds} s in turn, medians`,
  ["processes", "requests/s", "vs. first", "CPU µs/req", "vs. first", "failed"],
  setups.map((setup) => {
    const first = setups.find(({ kind }) => kind === setup.kind) ?? setup;
    return {
      name: `${setup.kind}, WORKERS=${setup.workers}`,
      cells: [
        String(middle(setup, "processes")),
        formatNumber(middle(setup, "requestsPerSecond")),
        ratio(setup, first, "requestsPerSecond"),
        formatNumber(middle(setup, "cpuMicroseconds")),
        ratio(setup, first, "cpuMicroseconds"),
        String(setup.samples.reduce((sum, { failed }) => sum + failed, 0)),
      ],
    };
  }),
);
saveResults("workers", flags.out, {
  flags,
  setups: setups.map(({ kind, workers, samples }) => ({ kind, workers, samples })),
});
process.exit(0);

/** Writes the configuration; resolves to the headers that requests need. */
async function seed(kind: string, dataDir: string): Promise<Record<string, string>> {
  const url = `http://127.0.0.1:${providerPort}`;
  if (kind === "full") return { "X-GW-API-Key": await seedKeyed(dataDir, url, "full") };
  await seedBare(dataDir, url);
  return {};
}

/**
 * Returns null if the workers must share a core; prints what cannot be measured then, and how the cores are divided otherwise.
 */
function readPlan(): CorePlan | null {
  const available = availableParallelism();
  const sharing =
    "Here the workers share one core: compare the CPU time per request; the throughput of several workers cannot be measured.";
  if (flags.cores === "") {
    console.log(`${sharing} For scaling, use --cores with at least four cores.`);
    return null;
  }
  const wanted = readCores();
  const missing = wanted.filter((core) => core >= available);
  const cores = wanted.filter((core) => core < available);
  if (missing.length > 0)
    console.log(
      `--cores ${flags.cores}: this machine has ${available} cores, 0 to ${available - 1}; there is no core ${missing.join(", ")}.`,
    );
  const found = planCores(cores);
  if (found === null || Bun.which("taskset") === null) {
    console.log(
      `NOT MEASURED: scaling with the number of workers. It needs taskset and a core each for two workers, the load generator and ` +
        `the provider, four in total; ${cores.length} can be used. ${sharing}`,
    );
    return null;
  }
  console.log(
    `Cores: workers ${found.gateway.join(",")}; load generator and Redis ${found.load.join(",")}; provider ${found.provider.join(",")}.`,
  );
  if (found.gateway.length === 1)
    console.log("NOT MEASURED: more than one worker. It needs at least four cores.");
  return found;
}

function readCores(): number[] {
  try {
    return parseCores(flags.cores);
  } catch (error) {
    console.error(`bench:workers: ${(error as Error).message}`);
    process.exit(2);
  }
}

async function setUp(kind: string, workers: number): Promise<Setup> {
  const dataDir = join(folder, `${kind}-${workers}`);
  mkdirSync(dataDir);
  const headers = await seed(kind, dataDir);
  const gatehouse = await startGatehouse({
    dataDir,
    cores: plan === null ? GATEWAY_CORE : plan.gateway.slice(0, workers).join(","),
    env: { WORKERS: String(workers), REDIS_URL: redis.url },
    ...(kind === "full" && { logTo: join(dataDir, "access.log") }),
  });
  const load = {
    url: gatehouse.proxyUrl + CHAT_PATH,
    bodyFile,
    headers,
    connections:
      plan === null ? flags.connections : Math.max(flags.connections, CONNECTIONS_PER_WORKER * workers),
    threads: plan?.load.length ?? 1,
    cores: loadCores,
  };
  return { kind, workers, gatehouse, load, samples: [] };
}

async function sample({ gatehouse, load }: Setup): Promise<Sample> {
  const before = usageOf(gatehouse.pid);
  const result = await runWrk({ ...load, seconds: flags.seconds });
  const after = usageOf(gatehouse.pid);
  return {
    requestsPerSecond: result.requestsPerSecond,
    cpuMicroseconds: (after.cpuMicroseconds - before.cpuMicroseconds) / result.requests,
    processes: after.processes,
    failed: result.errorResponses + result.failedConnections,
  };
}
