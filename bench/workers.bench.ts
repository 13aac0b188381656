// `npm run bench:workers`: throughput and CPU time per request of one worker process and of two, with counters in Redis.
// Flags: --rounds 3 --seconds 5 --connections 128 --workers 1,2 --only bare,full --out file.json
// With four or more cores, each worker has its own core and the load generator has the rest. With fewer, the workers share one
// core, so that the load generator does not disturb them; the CPU time per request is then comparable, the throughput is not.
import { mkdirSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { hasRedis, startRedis } from "../test/support/redis.ts";
import { CHAT_PATH, chatBody } from "./chat-payload.ts";
import { GATEWAY_CORE, reserveGatewayCore, OTHER_CORES } from "./cores.ts";
import { parseNumbers, readFlags } from "./flags.ts";
import { seedBare, seedFull } from "./full-gatehouse.ts";
import { startGatehouse, temporaryFolder } from "./gatehouse.ts";
import { saveResults, printGrid, formatRatio, formatNumber } from "./grid.ts";
import { warm } from "./measure-round.ts";
import { INSTALL_NGINX, nginx, startNginxProvider } from "./nginx.ts";
import { freePort } from "./pinned-process.ts";
import { usageOf } from "./process-usage.ts";
import { median } from "./report.ts";
import { INSTALL_WRK, runWrk, wrk } from "./wrk.ts";

const flags = readFlags("bench:workers", {
  rounds: 3,
  seconds: 5,
  connections: 128,
  workers: "1,2",
  only: "bare,full",
  out: "",
});
if (wrk === null || nginx === null || !hasRedis) {
  console.log(
    `SKIPPED: this needs wrk (${INSTALL_WRK}), nginx (${INSTALL_NGINX}) and Redis (apt-get install redis-server).`,
  );
  process.exit(0);
}
const counts = parseNumbers(flags.workers);
const maxWorkers = Math.max(...counts);
const cores = availableParallelism();
const hasCorePerWorker = cores >= maxWorkers + 2;
const gatewayCores = hasCorePerWorker ? `0-${maxWorkers - 1}` : GATEWAY_CORE;
const loadCores = hasCorePerWorker ? `${maxWorkers}-${cores - 1}` : OTHER_CORES;
if (!hasCorePerWorker)
  console.log(
    `${maxWorkers} workers and the load on ${cores} cores: the workers share one, so compare the CPU time per request.`,
  );

reserveGatewayCore();
const folder = temporaryFolder();
const providerPort = freePort();
startNginxProvider(folder, providerPort, loadCores);
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
  readonly dataDir: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly samples: Sample[];
}

const setups: Setup[] = [];
for (const kind of flags.only.split(",")) {
  const dataDir = join(folder, kind);
  mkdirSync(dataDir);
  const headers = await seed(kind, dataDir);
  for (const workers of counts) setups.push({ kind, workers, dataDir, headers, samples: [] });
}
for (let round = 0; round < flags.rounds; round++) {
  for (const setup of setups) setup.samples.push(await sample(setup));
}
await redis.stop();
if (setups.some(({ workers, samples }) => samples.some(({ processes }) => processes < workers)))
  console.log("Fewer processes than WORKERS: the setting has no effect here.");

const middle = ({ samples }: Setup, field: keyof Sample) => median(samples.map((each) => each[field]));
printGrid(
  `Workers: ${flags.connections} connections, ${flags.rounds} rounds of ${flags.seconds} s, medians`,
  ["processes", "requests/s", "vs. first", "CPU µs/req", "vs. first", "failed"],
  setups.map((setup) => {
    const first = setups.find(({ kind }) => kind === setup.kind) ?? setup;
    return {
      name: `${setup.kind}, WORKERS=${setup.workers}`,
      cells: [
        String(middle(setup, "processes")),
        formatNumber(middle(setup, "requestsPerSecond")),
        formatRatio(middle(setup, "requestsPerSecond"), middle(first, "requestsPerSecond")),
        formatNumber(middle(setup, "cpuMicroseconds")),
        formatRatio(middle(setup, "cpuMicroseconds"), middle(first, "cpuMicroseconds")),
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
  if (kind === "full") return { "X-GW-API-Key": await seedFull(dataDir, url) };
  await seedBare(dataDir, url);
  return {};
}

async function sample({ kind, workers, dataDir, headers }: Setup): Promise<Sample> {
  const gatehouse = await startGatehouse({
    dataDir,
    cores: gatewayCores,
    env: { WORKERS: String(workers), REDIS_URL: redis.url },
    ...(kind === "full" && { logTo: join(folder, "access.log") }),
  });
  try {
    const load = { url: gatehouse.proxyUrl + CHAT_PATH, bodyFile, headers, connections: flags.connections };
    for (let worker = 0; worker < workers; worker++) await warm({ ...load, cores: loadCores }, flags.seconds);
    const before = usageOf(gatehouse.pid);
    const result = await runWrk({ ...load, cores: loadCores, seconds: flags.seconds });
    const after = usageOf(gatehouse.pid);
    return {
      requestsPerSecond: result.requestsPerSecond,
      cpuMicroseconds: (after.cpuMicroseconds - before.cpuMicroseconds) / result.requests,
      processes: after.processes,
      failed: result.errorResponses + result.failedConnections,
    };
  } finally {
    await gatehouse.stop();
  }
}
