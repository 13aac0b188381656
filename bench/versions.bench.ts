// `npm run bench:versions -- --other DIR`: CPU per request of this version and of another one, whose checkout in DIR has been built, in
// rounds that alternate. For features that are not configured: the ratio of both shows what they cost nevertheless.
// Flags: --rounds 6 --seconds 3 --connections 64 --body 1k --same (send one body, for hits of --config cached) --config bare (or keyed,
// limited, full, cached) --warm 60000 --out file.json
import { existsSync, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { CHAT_PATH } from "./chat-payload.ts";
import { requireTools } from "./comparison.ts";
import { OTHER_CORES, reserveGatewayCore } from "./cores.ts";
import { readFlags } from "./flags.ts";
import { KEYED, seedBare, seedKeyed } from "./full-gatehouse.ts";
import { startGatehouse, temporaryFolder } from "./gatehouse.ts";
import { formatNumber, printGrid, saveResults } from "./grid.ts";
import { measureRound, WARM_REQUESTS } from "./measure-round.ts";
import { startNginxProvider } from "./nginx.ts";
import { median } from "./report.ts";
import type { Subject } from "./subjects.ts";
import { prepareWorkloads } from "./workload.ts";
import { freePort } from "../test/support/free-port.ts";

const flags = readFlags("bench:versions", {
  other: "",
  rounds: 6,
  seconds: 3,
  connections: 64,
  body: "1k",
  same: false,
  config: "bare",
  warm: WARM_REQUESTS,
  out: "",
});

const launcher = resolve(flags.other, "bin/gatehouse");
if (flags.other === "" || !existsSync(launcher) || !existsSync(resolve(flags.other, "dist/gatehouse"))) {
  console.error("bench:versions: --other is a checkout of another version; run `npm run build` in it first");
  process.exit(2);
}
const configuration = flags.config;
if (configuration !== "bare" && !isKeyed(configuration)) {
  console.error(
    `bench:versions: --config is "${configuration}"; use bare or ${Object.keys(KEYED).join(", ")}`,
  );
  process.exit(2);
}
requireTools();

const folder = temporaryFolder();
reserveGatewayCore();
const providerPort = freePort();
startNginxProvider(folder, providerPort, OTHER_CORES);
const versions = [await prepare("this", undefined), await prepare("other", launcher)] as const;
const [workload] = prepareWorkloads(folder, flags.body, flags.same);
if (workload === undefined) throw new Error("no workload");

const ratios: number[] = [];
const cpu: Record<string, number[]> = { this: [], other: [] };
for (let round = 1; round <= flags.rounds; round++) {
  const measured: Record<string, number> = {};
  // The order alternates: what the machine does besides changes during a round, too.
  for (const version of round % 2 === 1 ? versions : [...versions].reverse()) {
    const { connections, seconds, warm: warmRequests } = flags;
    const options = { workload, connections, seconds, warmRequests, env: {} };
    const { cpuMicroseconds, failed, waited } = await measureRound(version, options);
    if (failed > 0) throw new Error(`${version.title}: ${failed} requests failed`);
    measured[version.id] = cpuMicroseconds;
    cpu[version.id]?.push(cpuMicroseconds);
    const shown = `${formatNumber(cpuMicroseconds)} µs CPU/request, waited ${formatNumber(waited * 100)} %`;
    console.log(`round ${round}  ${version.title.padEnd(14)} ${shown}`);
  }
  ratios.push((measured["this"] ?? NaN) / (measured["other"] ?? NaN));
}

const spread = (values: readonly number[], digits: number) =>
  [median(values), Math.min(...values), Math.max(...values)].map((value) => value.toFixed(digits));
printGrid(
  `${configuration}, ${workload.title}: CPU per request, ${flags.rounds} rounds of ${flags.seconds} s`,
  ["median", "min", "max"],
  [
    ...versions.map(({ id, title }) => ({ name: `${title}, µs`, cells: spread(cpu[id] ?? [], 1) })),
    { name: "this ÷ other, within a round", cells: spread(ratios, 3) },
  ],
);
saveResults("versions", flags.out, { flags, cpu, ratios });
process.exit(0);

function isKeyed(name: string): name is keyof typeof KEYED {
  return Object.hasOwn(KEYED, name);
}

/** Each version has its own data directory, because a newer one migrates the database. */
async function prepare(id: "this" | "other", program: string | undefined): Promise<Subject> {
  const dataDir = join(folder, id);
  mkdirSync(dataDir);
  const providerUrl = `http://127.0.0.1:${providerPort}`;
  let headers: Record<string, string> = {};
  if (isKeyed(configuration))
    headers = { "X-GW-API-Key": await seedKeyed(dataDir, providerUrl, configuration, program) };
  else await seedBare(dataDir, providerUrl, program);
  return {
    id,
    title: `${id} version`,
    headers,
    start: async (env = {}) => {
      const options = { dataDir, env, ...(program !== undefined && { launcher: program }) };
      const gatehouse = await startGatehouse(options);
      return { ...gatehouse, url: gatehouse.proxyUrl + CHAT_PATH };
    },
  };
}
