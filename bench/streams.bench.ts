// `npm run bench:streams`: many concurrent event streams through one process, compared with direct connections in the same
// run: time to first event, delay of events, lost streams, memory per stream, CPU per event.
// Flags: --streams 100,1000,5000,10000 --seconds 5 --rate 20 (events per second and stream) --out file.json
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CHAT_PATH } from "./chat-payload.ts";
import { reserveGatewayCore, OTHER_CORES } from "./cores.ts";
import { parseNumbers, readFlags } from "./flags.ts";
import { createRoute, startGatehouse, targetAt, temporaryFolder } from "./gatehouse.ts";
import { saveResults, printGrid, formatNumber, type GridRow } from "./grid.ts";
import { startPinned } from "./pinned-process.ts";
import { usageOf } from "./process-usage.ts";
import { quantile } from "./report.ts";
import { StreamClient } from "./stream-client.ts";
import { freePort } from "../test/support/free-port.ts";

const flags = readFlags("bench:streams", { streams: "100,1000,5000,10000", seconds: 5, rate: 20, out: "" });
const SETTLE_MS = 1000;
/** Files that a process has open besides its streams. */
const SPARE_FILES = 200;
/** Minimum fraction of expected events that must arrive directly; the provider's timer is not exact. */
const MIN_ARRIVED = 0.98;
const WARM_ROUNDS = 10;
const WARM_STREAMS = 50;
const KIBIBYTE = 1024;

reserveGatewayCore();
const folder = temporaryFolder();
const providerPort = freePort();
const provider = startPinned(
  [
    process.execPath,
    join(import.meta.dir, "stream-provider.ts"),
    String(providerPort),
    String(1000 / flags.rate),
  ],
  { cores: OTHER_CORES },
);
const providerUrl = `http://127.0.0.1:${providerPort}`;
while (!(await fetch(`${providerUrl}/finish`).catch(() => null))?.ok) await Bun.sleep(5);
{
  const gatehouse = await startGatehouse({ dataDir: folder });
  await createRoute(gatehouse, { targets: [targetAt(providerUrl)] });
  await gatehouse.stop();
}

interface StreamResult {
  readonly streams: number;
  /** Streams whose first event arrived in time. */
  readonly opened: number;
  /** Opened streams that were closed before their end. */
  readonly lost: number;
  /** Opened streams whose end did not arrive in time. */
  readonly late: number;
  readonly firstP50: number;
  readonly firstP99: number;
  readonly delayP50: number;
  readonly delayP99: number;
  /** Received events as a fraction of the expected ones. */
  readonly arrived: number;
  readonly gatewayBusy: number;
  readonly toolBusy: number;
  /** How long the gateway's threads waited for a core that other processes used, as a fraction of the measured time. */
  readonly gatewayWaited: number;
  readonly cpuPerEvent: number;
  readonly kibPerStream: number;
}

const results: { direct: StreamResult; gateway: StreamResult }[] = [];
for (const requested of parseNumbers(flags.streams)) {
  const streams = Math.min(requested, Math.floor((maxOpenFiles() - SPARE_FILES) / 2));
  if (streams < requested)
    console.log(
      `${requested} streams need ${2 * requested + SPARE_FILES} open files in the gateway; ulimit -n allows ` +
        `${maxOpenFiles()}, so measuring ${streams}`,
    );
  for (let round = 0; round < WARM_ROUNDS; round++) await warm(providerPort);
  const direct = await measure(streams, providerPort, null);
  const gatehouse = await startGatehouse({ dataDir: folder });
  const port = Number(new URL(gatehouse.proxyUrl).port);
  for (let round = 0; round < WARM_ROUNDS; round++) await warm(port);
  const gateway = await measure(streams, port, gatehouse.pid);
  await gatehouse.stop();
  results.push({ direct, gateway });
  console.log(`${streams} streams measured`);
  if (direct.opened < streams || direct.arrived < MIN_ARRIVED)
    console.log(
      "  The benchmark itself is overloaded: even direct streams are late, so these times are invalid.",
    );
}
print();
saveResults("streams", flags.out, { flags, results });
process.exit(0);

/** Warms up the JIT compilers: the gateway's, and for direct connections those of this client and the provider. */
async function warm(port: number): Promise<void> {
  const client = new StreamClient("127.0.0.1", port, requestTo(port));
  await client.open(WARM_STREAMS);
  await client.finish(() => fetch(`${providerUrl}/finish`));
}

function requestTo(port: number): string {
  const body =
    '{"model":"gpt-4o-mini","stream":true,"messages":[{"role":"user","content":"When does it open?"}]}';
  const head = `POST ${CHAT_PATH} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\n`;
  return `${head}Content-Length: ${body.length}\r\n\r\n${body}`;
}

async function measure(streams: number, port: number, gatewayPid: number | null): Promise<StreamResult> {
  const client = new StreamClient("127.0.0.1", port, requestTo(port));
  const gatewayUsage = () => (gatewayPid === null ? null : usageOf(gatewayPid));
  const toolCpu = () =>
    usageOf(provider.pid).cpuMicroseconds + process.cpuUsage().user + process.cpuUsage().system;
  await Bun.sleep(SETTLE_MS / 2);
  const idle = gatewayUsage();
  await client.open(streams);
  await Bun.sleep(SETTLE_MS);
  const [gatewayBefore, toolBefore, eventsBefore] = [gatewayUsage(), toolCpu(), client.events];
  const startedAt = performance.now();
  client.isMeasuring = true;
  await Bun.sleep(flags.seconds * 1000);
  client.isMeasuring = false;
  const seconds = (performance.now() - startedAt) / 1000;
  const [gatewayAfter, toolAfter, events] = [gatewayUsage(), toolCpu(), client.events - eventsBefore];
  await client.finish(() => fetch(`${providerUrl}/finish`));
  const gatewayCpu = (gatewayAfter?.cpuMicroseconds ?? 0) - (gatewayBefore?.cpuMicroseconds ?? 0);
  return {
    streams,
    opened: client.firstEvents.length,
    lost: client.aborted,
    late: client.unfinished,
    firstP50: quantile(client.firstEvents, 0.5),
    firstP99: quantile(client.firstEvents, 0.99),
    delayP50: quantile(client.delays, 0.5),
    delayP99: quantile(client.delays, 0.99),
    arrived: events / (client.firstEvents.length * flags.rate * seconds),
    gatewayBusy: gatewayCpu / 1e6 / seconds,
    gatewayWaited:
      ((gatewayAfter?.waitedMicroseconds ?? 0) - (gatewayBefore?.waitedMicroseconds ?? 0)) / 1e6 / seconds,
    toolBusy: (toolAfter - toolBefore) / 1e6 / seconds,
    cpuPerEvent: gatewayCpu / events,
    kibPerStream:
      ((gatewayAfter?.residentBytes ?? 0) - (idle?.residentBytes ?? 0)) /
      client.firstEvents.length /
      KIBIBYTE,
  };
}

function maxOpenFiles(): number {
  const [, allowed = "1024"] =
    /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
  return Number(allowed);
}

function print(): void {
  const percent = (fraction: number) => `${formatNumber(fraction * 100)} %`;
  const timing = ({ firstP50, firstP99, delayP50, delayP99 }: StreamResult) => [
    firstP50,
    firstP99,
    delayP50,
    delayP99,
  ];
  const counts = ({ opened, lost, late, arrived, toolBusy }: StreamResult) => [
    ...[opened, lost, late].map(String),
    percent(arrived),
    percent(toolBusy),
  ];
  const rows = results.flatMap(({ direct, gateway }): GridRow[] => [
    {
      name: `${direct.streams.toLocaleString("en")} direct`,
      cells: [...timing(direct).map(formatNumber), ...counts(direct)],
    },
    {
      name: "  through Gatehouse",
      cells: [
        ...timing(gateway).map(formatNumber),
        ...counts(gateway),
        percent(gateway.gatewayBusy),
        percent(gateway.gatewayWaited),
        formatNumber(gateway.cpuPerEvent),
        formatNumber(gateway.kibPerStream),
      ],
    },
    {
      name: "  added",
      cells: timing(gateway).map((value, index) => formatNumber(value - (timing(direct)[index] ?? 0))),
    },
  ]);
  const names = ["first p50", "first p99", "event p50", "event p99", "opened", "lost", "late", "arrived"];
  printGrid(
    `Streams of ${flags.rate} events/s, measured for ${flags.seconds} s; times in ms`,
    [...names, "tool CPU", "gateway CPU", "waited", "CPU µs/event", "KiB/stream"],
    rows,
  );
}
