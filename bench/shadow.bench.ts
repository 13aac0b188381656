// The time of requests with and without plugins in shadow mode: two gateways of one process that differ only in these, in alternating
// bursts. Requests arrive at random times at a third of the capacity without plugins. Connections that send the next request at once
// would keep the core busy, and the p99 would then be a multiple of the CPU time per request, with or without shadow mode.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { chatBody } from "./chat-payload.ts";
import { OTHER_CORES, reserveGatewayCore } from "./cores.ts";
import { createRoute, startGatehouse, targetAt, temporaryFolder } from "./gatehouse.ts";
import { INSTALL_NGINX, nginx, startNginxProvider } from "./nginx.ts";
import { findPace } from "./pace.ts";
import { usageOf } from "./process-usage.ts";
import { median, printTable } from "./report.ts";
import { INSTALL_WRK, runWrk, wrk, type LoadResult } from "./wrk.ts";
import { freePort } from "../test/support/free-port.ts";

const PAIRS = 15;
const SECONDS = 3;
const SHARE_OF_CAPACITY = 1 / 3;
/** Many connections with long pauses: requests arrive independently of the responses. */
const CONNECTIONS = 128;
const SATURATING = 64;
const WARM_SECONDS = 4;
const LIMIT = 1.05;

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
  if (wrk === null || nginx === null) {
    console.log(`SKIPPED shadow: it needs wrk (${INSTALL_WRK}) and nginx (${INSTALL_NGINX}).`);
    return;
  }
  reserveGatewayCore();
  const folder = temporaryFolder();
  const port = freePort();
  const provider = startNginxProvider(folder, port, OTHER_CORES);
  const gatehouse = await startGatehouse({ dataDir: folder });
  const targets = [targetAt(`http://127.0.0.1:${port}`)];
  await createRoute(gatehouse, { targets, path: "/off", gateway: { name: "off" } });
  await createRoute(gatehouse, { targets, path: "/on", gateway: { name: "on", required_plugins: SHADOWS } });
  const bodyFile = join(folder, "body.json");
  writeFileSync(bodyFile, chatBody());
  const loadOf = (side: Side, connections: number) => ({
    url: `${gatehouse.proxyUrl}/${side}`,
    bodyFile,
    connections,
  });
  await runWrk({ ...loadOf("on", SATURATING), seconds: WARM_SECONDS });
  const { requestsPerSecond: capacity } = await runWrk({
    ...loadOf("off", SATURATING),
    seconds: WARM_SECONDS,
  });
  const paceMs = await findPace(loadOf("off", CONNECTIONS), capacity * SHARE_OF_CAPACITY);
  const bursts: Record<Side, Burst[]> = { off: [], on: [] };
  for (let pair = 0; pair < PAIRS; pair++)
    for (const side of pair % 2 === 0 ? (["off", "on"] as const) : (["on", "off"] as const)) {
      const before = usageOf(gatehouse.pid).cpuMicroseconds;
      const result = await runWrk({ ...loadOf(side, CONNECTIONS), paceMs, seconds: SECONDS });
      if (result.errorResponses + result.failedConnections > 0) throw new Error(`requests to ${side} failed`);
      const cpuMicroseconds = (usageOf(gatehouse.pid).cpuMicroseconds - before) / result.requests;
      bursts[side].push({ ...result, cpuMicroseconds });
    }
  await gatehouse.stop();
  await provider.stop();
  printBursts(bursts);
}

function printBursts(bursts: Readonly<Record<Side, readonly Burst[]>>): void {
  const rows = (
    [
      ["p50Ms", "p50", "ms"],
      ["p99Ms", "p99", "ms"],
      ["cpuMicroseconds", "CPU time per request", "µs"],
    ] as const
  ).flatMap(([field, name, unit]) => {
    const of = (side: Side) => bursts[side].map((burst) => burst[field]);
    const [off, on] = [of("off"), of("on")];
    const ratio = median(on.map((value, pair) => value / (off[pair] ?? Number.NaN)));
    return [
      { what: `${name} without`, value: median(off), unit },
      { what: `${name} with two plugins in shadow mode`, value: median(on), unit },
      {
        what: `${name} ratio, median of the pairs`,
        value: ratio,
        unit: "×",
        ...(field === "p99Ms" && { atMost: LIMIT }),
      },
    ];
  });
  const all = [...bursts.off, ...bursts.on];
  const requests = all.reduce((sum, burst) => sum + burst.requests, 0);
  const rate = median(all.map(({ requestsPerSecond }) => requestsPerSecond));
  printTable(
    `Shadow mode: ${requests.toLocaleString("en")} requests at ${Math.round(rate).toLocaleString("en")} per second, ` +
      `${PAIRS} pairs of bursts of ${SECONDS} s`,
    rows,
  );
}
