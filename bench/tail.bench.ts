// `npm run bench:tail`: latency of nginx, Gatehouse bare and full at 70 % of their capacity, and the pauses of Gatehouse's garbage
// collector under the same load. The capacity is what the process serves under full load. "without pauses" is the p99 ÷ p50 of a simulated server
// with this capacity.
// Flags: --rounds 3 --seconds 5 --body 1k --share 0.7 --connections 256 --only bare,full (nginx is always measured) --out file.json
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { requireTools } from "./comparison.ts";
import { OTHER_CORES, reserveGatewayCore } from "./cores.ts";
import { readFlags } from "./flags.ts";
import { readPauses } from "./gc-log.ts";
import { temporaryFolder } from "./gatehouse.ts";
import { formatNumber, printGrid, saveResults } from "./grid.ts";
import { idealTail } from "./ideal-server.ts";
import { warm } from "./measure-round.ts";
import { startNginxProvider } from "./nginx.ts";
import { findPace } from "./pace.ts";
import { untilReady } from "./pinned-process.ts";
import { median } from "./report.ts";
import { PREPARE, type Subject } from "./subjects.ts";
import { prepareWorkloads } from "./workload.ts";
import { newConversations, runWrk } from "./wrk.ts";
import { freePort } from "../test/support/free-port.ts";

interface Sample {
  readonly capacity: number;
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly ratio: number;
  /** The ratio of a server without pauses. */
  readonly idealRatio: number;
  /** Of garbage collections in a second run with the same load; null if it is not Gatehouse. */
  readonly pauses: readonly number[] | null;
  readonly failed: number;
}

/** Connections that saturate a gateway. */
const SATURATING = 64;
const LONG_MS = 5;
/** Number of logs so far. A log of its own for each process: an existing file would be overwritten from its start, not truncated. */
let logs = 0;

const flags = readFlags("bench:tail", {
  rounds: 3,
  seconds: 5,
  body: "1k",
  share: 0.7,
  connections: 256,
  only: "bare,full",
  out: "",
});
requireTools();
reserveGatewayCore();
const folder = temporaryFolder();
const provider = freePort();
startNginxProvider(folder, provider, OTHER_CORES);
const [workload] = prepareWorkloads(folder, flags.body);
const { title, body, bodyFile, turnFiles } = workload!;

const samples = new Map<Subject, Sample[]>();
for (const id of new Set(["nginx", ...flags.only.split(",")])) {
  const prepared = await PREPARE[id]?.(folder, provider);
  if (prepared === undefined || typeof prepared === "string")
    console.log(`SKIPPED ${id}: ${prepared ?? "unknown subject"}`);
  else samples.set(prepared, []);
}
for (let round = 1; round <= flags.rounds; round++) {
  for (const [subject, own] of samples) {
    const measured = await sample(subject);
    own.push(measured);
    console.log(
      `round ${round}  ${subject.title.padEnd(18)} ${formatNumber(measured.requestsPerSecond)} of ` +
        `${formatNumber(measured.capacity)} requests/s, p50 ${formatNumber(measured.p50Ms)} ms, p99 ${formatNumber(measured.p99Ms)} ms`,
    );
  }
}
printGrid(
  `Tail at ${flags.share * 100} % of capacity: ${title}, ${flags.connections} connections with random pauses, ${flags.rounds} rounds ` +
    `of ${flags.seconds} s, medians; pauses of garbage collections: all rounds`,
  [
    "capacity/s",
    "load/s",
    "p50 ms",
    "p99 ms",
    "p99 ÷ p50",
    "without pauses",
    "pauses/s",
    "p50 ms",
    "worst ms",
    `above ${LONG_MS} ms`,
    "failed",
  ],
  [...samples].map(([subject, own]) => {
    const middle = (field: "capacity" | "requestsPerSecond" | "p50Ms" | "p99Ms" | "ratio" | "idealRatio") =>
      formatNumber(median(own.map((each) => each[field])));
    const pauses = own.every((each) => each.pauses === null)
      ? null
      : own.flatMap((each) => each.pauses ?? []);
    return {
      name: subject.title,
      cells: [
        ...(["capacity", "requestsPerSecond", "p50Ms", "p99Ms", "ratio", "idealRatio"] as const).map(middle),
        ...(pauses === null ? ["–", "–", "–", "–"] : pauseCells(pauses)),
        String(own.reduce((sum, { failed }) => sum + failed, 0)),
      ],
    };
  }),
);
saveResults("tail", flags.out, {
  flags,
  samples: Object.fromEntries([...samples].map(([{ id }, own]) => [id, own])),
});
process.exit(0);

function pauseCells(pauses: readonly number[]): string[] {
  return [
    formatNumber(pauses.length / flags.rounds / flags.seconds),
    formatNumber(median(pauses)),
    formatNumber(Math.max(0, ...pauses)),
    String(pauses.filter((pause) => pause > LONG_MS).length),
  ];
}

async function sample(subject: Subject): Promise<Sample> {
  const quiet = await measure(subject, {});
  // The report of collections takes time itself, so latency is measured without it.
  if (subject.id !== "bare" && subject.id !== "full") return { ...quiet, pauses: null };
  const log = join(folder, `gc-${subject.id}-${logs++}.log`);
  const { pauses } = await measure(subject, { BUN_JSC_logGC: "1" }, log);
  return { ...quiet, pauses };
}

async function measure(subject: Subject, env: Record<string, string>, log?: string): Promise<Sample> {
  const started = await subject.start(env, log);
  try {
    const headers = { "Content-Type": "application/json", ...subject.headers };
    await untilReady(started.startedAt, started.url, { method: "POST", headers, body });
    const conversations = newConversations(turnFiles);
    const load = { url: started.url, bodyFile, conversations, headers: subject.headers };
    await warm({ ...load, connections: SATURATING }, flags.seconds);
    const saturated = await runWrk({ ...load, connections: SATURATING, seconds: flags.seconds });
    const capacity = saturated.requestsPerSecond;
    const paced = { ...load, connections: flags.connections };
    const paceMs = await findPace(paced, capacity * flags.share);
    const logged = log === undefined ? 0 : statSync(log).size;
    const result = await runWrk({ ...paced, paceMs, seconds: flags.seconds });
    return {
      capacity,
      requestsPerSecond: result.requestsPerSecond,
      p50Ms: result.p50Ms,
      p99Ms: result.p99Ms,
      ratio: result.p99Ms / result.p50Ms,
      idealRatio: idealTail({ ...result, capacity, connections: flags.connections }),
      pauses: log === undefined ? null : readPauses(readFileSync(log).subarray(logged).toString()),
      failed: result.errorResponses + result.failedConnections,
    };
  } finally {
    await started.stop();
  }
}
