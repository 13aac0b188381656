// The time of requests with and without plugins in shadow mode: two gateways of one process that differ only in these, in alternating
// bursts. Requests arrive at random times and at a fixed rate, far below what a core can serve. Connections that send the next request
// at once would keep the core busy, and the p99 would be a multiple of the CPU time per request, which is measured here as well.
// The limit applies to a provider that takes 20 ms, which is little for a model. With one that responds at once, the p99 is about as
// long as a pause of the garbage collector, of which the calls cause more (docs/decisions/0134-when-shadow-plugins-run.md). Therefore the
// memory that a request allocates is measured, too, with the collector off.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { CHAT_RESPONSE, chatBody } from "./chat-payload.ts";
import { reserveGatewayCore } from "./cores.ts";
import { createRoute, startGatehouse, targetAt, temporaryFolder } from "./gatehouse.ts";
import { findPace } from "./pace.ts";
import { residentBytesOf, usageOf } from "./process-usage.ts";
import { median, printTable } from "./report.ts";
import { INSTALL_WRK, runWrk, wrk, type LoadResult } from "./wrk.ts";

const PAIRS = 12;
const SECONDS = 2;
const REQUESTS_PER_SECOND = 1000;
/** Many connections with long pauses: requests arrive independently of the responses. */
const CONNECTIONS = 128;
const SATURATING = 64;
const WARM_SECONDS = 4;
/** Of the providers. */
const DELAYS_MS = [0, 20];
const LIMIT = 1.05;
/** Few enough that the calls of no request are skipped. */
const UNSATURATING = 16;
/** Requests per second of the bursts with the collector off. */
const ALLOCATING_RATE = 1500;
/** Memory of the warm-up is returned to the system during the first of them. */
const ALLOCATING_PAIRS = 3;

const SHADOWS = [
  {
    name: "rate_limiter",
    stage: "pre_request",
    settings: { limits: { per_ip: { limit: 100, window: "1m" } } },
  },
  {
    name: "code_sanitation",
    stage: "pre_request",
    settings: { languages: [{ language: "sql" }], content_to_check: ["body"], action: "block" },
  },
].map((entry) => ({ ...entry, mode: "shadow" }));

type Side = "off" | "on";
interface Burst extends LoadResult {
  readonly cpuMicroseconds: number;
}

export async function benchShadow(): Promise<void> {
  if (wrk === null) {
    console.log(`SKIPPED shadow: it needs wrk (${INSTALL_WRK}).`);
    return;
  }
  reserveGatewayCore();
  const folder = temporaryFolder();
  const bodyFile = join(folder, "body.json");
  writeFileSync(bodyFile, chatBody());
  const gatehouse = await startGatehouse({ dataDir: folder });
  for (const delayMs of DELAYS_MS) {
    const provider = startProvider(delayMs);
    await createRoutes(gatehouse, provider.url.origin, delayMs);
    const loadOf = (side: Side, connections: number) => ({
      url: `${gatehouse.proxyUrl}/${side}-${delayMs}`,
      bodyFile,
      connections,
    });
    for (const side of ["on", "off"] as const)
      await runWrk({ ...loadOf(side, SATURATING), seconds: WARM_SECONDS });
    const paceMs = await findPace(loadOf("off", CONNECTIONS), REQUESTS_PER_SECOND);
    printBursts(delayMs, await measure((side) => ({ ...loadOf(side, CONNECTIONS), paceMs }), gatehouse.pid));
    await provider.stop(true);
  }
  await gatehouse.stop();
  await benchAllocations(bodyFile);
}

function startProvider(delayMs: number) {
  return Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      await request.bytes();
      if (delayMs > 0) await Bun.sleep(delayMs);
      return new Response(CHAT_RESPONSE, { headers: { "Content-Type": "application/json" } });
    },
  });
}

async function createRoutes(
  gatehouse: Parameters<typeof createRoute>[0],
  url: string,
  delayMs: number,
): Promise<void> {
  for (const [side, required_plugins] of [
    ["off", []],
    ["on", SHADOWS],
  ] as const)
    await createRoute(gatehouse, {
      targets: [targetAt(url)],
      path: `/${side}-${delayMs}`,
      gateway: { name: `${side}-${delayMs}`, required_plugins },
    });
}

/** Measures by how much the memory of a process grows whose collector is off. */
async function benchAllocations(bodyFile: string): Promise<void> {
  const gatehouse = await startGatehouse({ dataDir: temporaryFolder(), env: { BUN_JSC_useGC: "0" } });
  const provider = startProvider(0);
  await createRoutes(gatehouse, provider.url.origin, 0);
  const loadOf = (side: Side, connections: number) => ({
    url: `${gatehouse.proxyUrl}/${side}-0`,
    bodyFile,
    connections,
  });
  for (const side of ["on", "off"] as const)
    await runWrk({ ...loadOf(side, UNSATURATING), seconds: WARM_SECONDS });
  const paceMs = await findPace(loadOf("on", CONNECTIONS), ALLOCATING_RATE);
  const kilobytes: Record<Side, number[]> = { off: [], on: [] };
  for (let pair = 0; pair < ALLOCATING_PAIRS; pair++)
    for (const side of ["off", "on"] as const) {
      const before = residentBytesOf(gatehouse.pid);
      const { requests } = await runWrk({ ...loadOf(side, CONNECTIONS), paceMs, seconds: SECONDS });
      kilobytes[side].push((residentBytesOf(gatehouse.pid) - before) / requests / 1000);
    }
  await provider.stop(true);
  await gatehouse.stop();
  printTable("Shadow mode, memory that a request allocates", [
    { what: "without", value: median(kilobytes.off), unit: "kB" },
    { what: "with two plugins in shadow mode", value: median(kilobytes.on), unit: "kB" },
  ]);
}

async function measure(
  loadOf: (side: Side) => Omit<Parameters<typeof runWrk>[0], "seconds">,
  pid: number,
): Promise<Record<Side, Burst[]>> {
  const bursts: Record<Side, Burst[]> = { off: [], on: [] };
  for (let pair = 0; pair < PAIRS; pair++)
    for (const side of pair % 2 === 0 ? (["off", "on"] as const) : (["on", "off"] as const)) {
      const before = usageOf(pid).cpuMicroseconds;
      const result = await runWrk({ ...loadOf(side), seconds: SECONDS });
      if (result.errorResponses + result.failedConnections > 0) throw new Error(`requests to ${side} failed`);
      const cpuMicroseconds = (usageOf(pid).cpuMicroseconds - before) / result.requests;
      bursts[side].push({ ...result, cpuMicroseconds });
    }
  return bursts;
}

const VALUES = [
  ["p50Ms", "p50", "ms"],
  ["p99Ms", "p99", "ms"],
  ["cpuMicroseconds", "CPU time per request", "µs"],
] as const;

function printBursts(delayMs: number, bursts: Readonly<Record<Side, readonly Burst[]>>): void {
  const rows = VALUES.flatMap(([field, name, unit]) => {
    const [off, on] = [bursts.off.map((burst) => burst[field]), bursts.on.map((burst) => burst[field])];
    const value = median(on.map((each, pair) => each / (off[pair] ?? Number.NaN)));
    const isLimited = field === "p99Ms" && delayMs > 0;
    return [
      { what: `${name} without`, value: median(off), unit },
      { what: `${name} with two plugins in shadow mode`, value: median(on), unit },
      { what: `${name} ratio, median of the pairs`, value, unit: "×", ...(isLimited && { atMost: LIMIT }) },
    ];
  });
  const all = [...bursts.off, ...bursts.on];
  const requests = all.reduce((sum, burst) => sum + burst.requests, 0);
  const rate = median(all.map(({ requestsPerSecond }) => requestsPerSecond));
  printTable(
    `Shadow mode, a provider that takes ${delayMs} ms: ${requests.toLocaleString("en")} requests at ` +
      `${Math.round(rate).toLocaleString("en")} per second, ${PAIRS} pairs of bursts of ${SECONDS} s`,
    rows,
  );
}
