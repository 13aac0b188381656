// `npm run bench:peers`: compares nginx, Gatehouse bare and full, and Portkey's gateway in one run, in alternating rounds.
// Flags: --rounds 5 --seconds 5 --connections 64 --only nginx,bare,full,portkey --out file.json
//        --env 'NAME=value NAME=value' sets variables of Gatehouse's processes, to try a setting or a flag of the runtime
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { chatBody } from "./chat-payload.ts";
import { reserveGatewayCore, OTHER_CORES } from "./cores.ts";
import { readFlags } from "./flags.ts";
import { temporaryFolder } from "./gatehouse.ts";
import { saveResults, printGrid, formatRatio, formatNumber, type GridRow } from "./grid.ts";
import { measureRound, STEADY_STATE_REQUESTS, type Round } from "./measure-round.ts";
import { INSTALL_NGINX, nginx, startNginxProvider } from "./nginx.ts";
import { freePort } from "./pinned-process.ts";
import { median } from "./report.ts";
import { PREPARE, type Subject } from "./subjects.ts";
import { INSTALL_WRK, wrk } from "./wrk.ts";

const COLUMNS = {
  requestsPerSecond: "requests/s",
  cpuMicroseconds: "CPU µs/req",
  p50Ms: "p50 ms",
  p99Ms: "p99 ms",
  idleMiB: "idle MiB",
  steadyMiB: "steady MiB",
  readyMs: "ready ms",
} as const;
type Column = keyof typeof COLUMNS;
const columns = Object.keys(COLUMNS) as Column[];

const flags = readFlags("bench:peers", {
  rounds: 5,
  seconds: 5,
  connections: 64,
  only: "",
  env: "",
  out: "",
});
const env = Object.fromEntries(
  flags.env
    .split(" ")
    .filter(Boolean)
    .map((pair) => pair.split(/=(.*)/s).slice(0, 2)),
);
const wanted = flags.only === "" ? Object.keys(PREPARE) : flags.only.split(",");
const unknown = wanted.filter((id) => PREPARE[id] === undefined);
if (unknown.length > 0) {
  console.error(
    `bench:peers: --only has unknown ${unknown.join(", ")}; use some of ${Object.keys(PREPARE).join(", ")}`,
  );
  process.exit(2);
}
if (wrk === null || nginx === null) {
  console.log("SKIPPED: wrk creates the load, and nginx is the provider.");
  if (wrk === null) console.log(`  wrk is not installed: ${INSTALL_WRK}`);
  if (nginx === null) console.log(`  nginx is not installed: ${INSTALL_NGINX}`);
  process.exit(0);
}
reserveGatewayCore();

const folder = temporaryFolder();
const provider = freePort();
startNginxProvider(folder, provider, OTHER_CORES);
const body = chatBody();
const bodyFile = join(folder, "body.json");
writeFileSync(bodyFile, body);

const subjects: Subject[] = [];
for (const id of wanted) {
  const prepared = await PREPARE[id]!(folder, provider);
  if (typeof prepared === "string") console.log(`SKIPPED ${id}: ${prepared}`);
  else subjects.push(prepared);
}

const rounds = new Map<string, Round[]>(subjects.map(({ id }) => [id, []]));
for (let round = 1; round <= flags.rounds; round++) {
  for (const subject of subjects) {
    const measured = await measureRound(subject, {
      body,
      bodyFile,
      ...flags,
      env,
      warmRequests: STEADY_STATE_REQUESTS,
    });
    if (!Number.isFinite(measured.cpuMicroseconds)) {
      console.log(`round ${round}  ${subject.title.padEnd(18)} VOID: no response in time`);
      continue;
    }
    rounds.get(subject.id)!.push(measured);
    const cold =
      measured.warmedWith < STEADY_STATE_REQUESTS
        ? `, COLD: only ${measured.warmedWith} warm-up requests`
        : "";
    const failed = measured.failed === 0 ? "" : `, ${measured.failed} FAILED`;
    console.log(
      `round ${round}  ${subject.title.padEnd(18)} ${formatNumber(measured.requestsPerSecond)} requests/s, ` +
        `${formatNumber(measured.cpuMicroseconds)} µs CPU/request, waited ${formatNumber(measured.waited * 100)} %${cold}${failed}`,
    );
  }
}

const middle = (id: string, column: Column) => median((rounds.get(id) ?? []).map((round) => round[column]));
const spread = (id: string, column: Column) => {
  const values = (rounds.get(id) ?? []).map((round) => round[column]);
  return `${formatNumber(Math.min(...values))}–${formatNumber(Math.max(...values))}`;
};
const rows = subjects.flatMap(({ id, title }): GridRow[] => [
  { name: title, cells: columns.map((column) => formatNumber(middle(id, column))) },
  { name: "  min–max", cells: columns.map((column) => spread(id, column)) },
  ...["nginx", "portkey"]
    .filter((other) => other !== id && rounds.has(other))
    .map((other) => ({
      name: `  to ${other}`,
      cells: columns.map((column) => formatRatio(middle(id, column), middle(other, column))),
    })),
]);
printGrid(
  `Comparison: ${flags.connections} connections, a POST of ${body.length} bytes, ${flags.rounds} rounds of ` +
    `${flags.seconds} s, the gateway on its own core; medians`,
  Object.values(COLUMNS),
  rows,
);
saveResults("peers", flags.out, { flags, rounds: Object.fromEntries(rounds) });
process.exit(0);
