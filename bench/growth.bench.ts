// `npm run bench:growth`: CPU per request as the number of rules, API keys, and targets and the size of the body grow.
// Flags: --rounds 3 --seconds 3 --only rules,keys,targets,body --max 100000 (the largest size) --out file.json
import { reserveGatewayCore, OTHER_CORES } from "./cores.ts";
import { readFlags } from "./flags.ts";
import { startGatehouse, temporaryFolder } from "./gatehouse.ts";
import { saveResults, printGrid, formatRatio, formatNumber } from "./grid.ts";
import { preparePoint, SIZES, type Curve, type Point } from "./growth-points.ts";
import { INSTALL_NGINX, nginx, startNginxProvider } from "./nginx.ts";
import { usageOf } from "./process-usage.ts";
import { median } from "./report.ts";
import { INSTALL_WRK, runWrk, wrk } from "./wrk.ts";
import { freePort } from "../test/support/free-port.ts";

const flags = readFlags("bench:growth", {
  rounds: 3,
  seconds: 3,
  only: "rules,keys,targets,body",
  max: 1e9,
  out: "",
});
if (wrk === null || nginx === null) {
  console.log(`SKIPPED: this needs wrk (${INSTALL_WRK}) and nginx (${INSTALL_NGINX}).`);
  process.exit(0);
}
const curves = flags.only.split(",").filter((name): name is Curve => Object.hasOwn(SIZES, name));
if (curves.length === 0) {
  console.error(`bench:growth: --only is "${flags.only}"; use some of ${Object.keys(SIZES).join(", ")}`);
  process.exit(2);
}
reserveGatewayCore();
const CONNECTIONS = 32;
const MEBIBYTE = 1024 * 1024;

const folder = temporaryFolder();
const provider = freePort();
startNginxProvider(folder, provider, OTHER_CORES);

const points: Point[] = [];
for (const curve of curves) {
  for (const size of SIZES[curve].filter((each) => each <= flags.max)) {
    const startedAt = performance.now();
    points.push(await preparePoint(folder, curve, size, `http://127.0.0.1:${provider}`));
    console.log(`${curve} ${size}: seeded in ${formatNumber((performance.now() - startedAt) / 1000)} s`);
  }
}

interface Sample {
  readonly cpuMicroseconds: number;
  readonly readyMs: number;
  readonly steadyMiB: number;
  readonly failed: number;
}

const samples = new Map<Point, Sample[]>(points.map((point) => [point, []]));
for (let round = 0; round < flags.rounds; round++) {
  for (const point of points) samples.get(point)!.push(await sample(point));
}
for (const curve of curves) {
  const own = points.filter((point) => point.curve === curve);
  const medianOf = (point: Point, field: keyof Sample) =>
    median(samples.get(point)!.map((each) => each[field]));
  printGrid(
    `Growth with ${curve}: ${flags.rounds} rounds of ${flags.seconds} s, medians`,
    ["CPU µs/req", "to the first", "min–max", "steady MiB", "ready ms", "failed"],
    own.map((point) => {
      const cpu = samples.get(point)!.map((each) => each.cpuMicroseconds);
      return {
        name: point.size.toLocaleString("en"),
        cells: [
          formatNumber(median(cpu)),
          formatRatio(median(cpu), medianOf(own[0]!, "cpuMicroseconds")),
          `${formatNumber(Math.min(...cpu))}–${formatNumber(Math.max(...cpu))}`,
          formatNumber(medianOf(point, "steadyMiB")),
          formatNumber(medianOf(point, "readyMs")),
          String(samples.get(point)!.reduce((sum, { failed }) => sum + failed, 0)),
        ],
      };
    }),
  );
}
const results = points.map((point) => ({
  curve: point.curve,
  size: point.size,
  samples: samples.get(point),
}));
saveResults("growth", flags.out, { flags, results });
process.exit(0);

async function sample({ dataDir, bodyFile, variantsFile }: Point): Promise<Sample> {
  const gatehouse = await startGatehouse({ dataDir });
  try {
    const load = { url: gatehouse.proxyUrl, bodyFile, variantsFile, connections: CONNECTIONS };
    await runWrk({ ...load, seconds: Math.max(1, flags.seconds / 2) });
    const before = usageOf(gatehouse.pid);
    const { requests, errorResponses, failedConnections } = await runWrk({
      ...load,
      seconds: flags.seconds,
    });
    const after = usageOf(gatehouse.pid);
    return {
      cpuMicroseconds: (after.cpuMicroseconds - before.cpuMicroseconds) / requests,
      readyMs: gatehouse.readyMs,
      steadyMiB: after.residentBytes / MEBIBYTE,
      failed: errorResponses + failedConnections,
    };
  } finally {
    await gatehouse.stop();
  }
}
