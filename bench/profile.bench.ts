// `npm run bench:profile`: CPU time of Gatehouse under load, bare and full, by thread, function, and file.
// Flags: --seconds 10 --connections 64 --body 1k --same (send one body, for hits of --only cached) --top 25 --only bare,full
// --keep folder (for the .cpuprofile files)
import { mkdirSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { reserveGatewayCore, OTHER_CORES } from "./cores.ts";
import { summarize } from "./cpu-profile.ts";
import { readFlags } from "./flags.ts";
import { temporaryFolder } from "./gatehouse.ts";
import { printGrid, formatNumber } from "./grid.ts";
import { INSTALL_NGINX, nginx, startNginxProvider } from "./nginx.ts";
import { threadsOf } from "./process-usage.ts";
import { PREPARE } from "./subjects.ts";
import { prepareWorkloads } from "./workload.ts";
import { INSTALL_WRK, newConversations, runWrk, wrk } from "./wrk.ts";
import { freePort } from "../test/support/free-port.ts";

const flags = readFlags("bench:profile", {
  seconds: 10,
  connections: 64,
  body: "1k",
  same: false,
  top: 25,
  only: "bare,full",
  keep: "",
});
if (wrk === null || nginx === null) {
  console.log(`SKIPPED: this needs wrk (${INSTALL_WRK}) and nginx (${INSTALL_NGINX}).`);
  process.exit(0);
}
reserveGatewayCore();
const folder = temporaryFolder();
const provider = freePort();
startNginxProvider(folder, provider, OTHER_CORES);
const [workload] = prepareWorkloads(folder, flags.body, flags.same);
const { bodyFile, turnFiles } = workload!;

for (const id of flags.only.split(",")) {
  const subject = await PREPARE[id]?.(folder, provider);
  if (subject === undefined || typeof subject === "string") {
    console.log(`SKIPPED ${id}: ${subject ?? "unknown subject"}`);
    continue;
  }
  const profiles = resolve(flags.keep === "" ? folder : flags.keep, id);
  mkdirSync(profiles, { recursive: true });
  const started = await subject.start({ BUN_OPTIONS: `--cpu-prof --cpu-prof-dir=${profiles}` });
  const conversations = newConversations(turnFiles);
  const load = {
    url: started.url,
    bodyFile,
    conversations,
    headers: subject.headers,
    connections: flags.connections,
  };
  const before = threadsOf(started.pid);
  const { requests } = await runWrk({ ...load, seconds: flags.seconds });
  const threads = [...threadsOf(started.pid)]
    .map(([name, cpu]) => ({ name, cpu: (cpu - (before.get(name) ?? 0)) / requests }))
    .sort((a, b) => b.cpu - a.cpu);
  await started.stop();
  const file = readdirSync(profiles).find((name) => name.endsWith(".cpuprofile"));
  if (file === undefined) throw new Error(`the runtime wrote no profile into ${profiles}`);
  printGrid(
    `${subject.title}: CPU by thread, with the profiler on`,
    ["µs/req"],
    threads.filter(({ cpu }) => cpu >= 0.05).map(({ name, cpu }) => ({ name, cells: [formatNumber(cpu)] })),
  );
  // Samples measure wall-clock time, which other processes on the core lengthen: use only their proportions.
  const { functions, files } = summarize(join(profiles, file));
  const all = functions.reduce((sum, { self }) => sum + self, 0);
  const main = threads.find(({ name }) => name === "main")?.cpu ?? 0;
  for (const [what, times] of [
    ["functions", functions],
    ["files", files],
  ] as const) {
    printGrid(
      `${subject.title}: the ${flags.top} ${what} with most self time, as fractions of the main thread`,
      ["self %", "self µs/req", "total µs/req"],
      times.slice(0, flags.top).map(({ name, self, total }) => ({
        name,
        cells: [
          formatNumber((self / all) * 100),
          formatNumber((self / all) * main),
          formatNumber((total / all) * main),
        ],
      })),
    );
  }
}
process.exit(0);
