// A long run of mixed traffic against a gateway process: it sends no 5xx, and its memory and open files do not grow.
//   npm run test:soak -- --minutes 30 [--rate 150]
import { parseArgs } from "node:util";
import { filesBesideConnections, MB, openFiles } from "../fault/process-watch.ts";
import { residentBytes } from "../support/balancing-fixtures.ts";
import { startGatehouseProcess } from "../support/gatehouse-process.ts";
import { PLUGIN_DIRECTORY, startMixedLoad } from "./mixed-load.ts";
import { slopeOf } from "./slope.ts";

const { values } = parseArgs({
  options: { minutes: { type: "string", default: "30" }, rate: { type: "string", default: "150" } },
});
const minutes = Number(values.minutes);
const SAMPLE_MS = minutes > 5 ? 10_000 : 2000;
/**
 * The first third of a run is not evaluated. The memory of Bun settles after about 200,000 of these requests, when its JIT
 * compilers are done, so a long run sends requests faster while it warms up.
 */
const WARM_UP_MS = (minutes * 60_000) / 3;
const WARM_UP_RATE = 4;
/** Less than ten minutes are too short to detect a growth of one megabyte: a short run only finds large leaks. */
const isLong = minutes >= 10;
const MAX_MB_IN_TEN_MINUTES = 1;
const MAX_MB_IN_SHORT_RUN = 25;
const MAX_MORE_FILES = 16;
/** How long connections of the last requests may take to close. */
const CLOSING_MS = 10_000;

interface Sample {
  readonly minute: number;
  readonly residentMb: number;
  readonly heapMb: number;
  readonly files: number;
  readonly requests: number;
}

const print = (line: string) => void process.stdout.write(`${line}\n`);

const gatehouse = await startGatehouseProcess({ env: { PLUGINS_DIR: PLUGIN_DIRECTORY } });
const rate = Number(values.rate);
const load = await startMixedLoad(gatehouse, isLong ? rate * WARM_UP_RATE : rate);
const filesBefore = filesBesideConnections(gatehouse);
const startedAt = performance.now();
const samples: Sample[] = [];
print("minute  resident MB  heap MB  files  requests");
while (performance.now() - startedAt < minutes * 60_000) {
  await Bun.sleep(SAMPLE_MS);
  if (performance.now() - startedAt >= WARM_UP_MS) load.setRate(rate);
  const sample = await takeSample();
  samples.push(sample);
  const { minute, residentMb, heapMb, files, requests } = sample;
  const columns = [minute.toFixed(2), residentMb.toFixed(1), heapMb.toFixed(1), files, requests];
  print(columns.map((value, at) => String(value).padStart([6, 12, 8, 6, 9][at]!)).join(" "));
}
await load.stop();
const moreFiles = await countMoreFiles();
await gatehouse.stop();
process.exitCode = evaluate() ? 0 : 1;
process.exit();

/** Measures the gateway without running requests and after garbage collection: the lowest of several values. */
async function takeSample(): Promise<Sample> {
  let residentMb = Infinity;
  let heapMb = Infinity;
  await load.pause();
  for (let times = 0; times < 5; times++) {
    heapMb = Math.min(heapMb, (await load.collect()) / MB);
    await Bun.sleep(100);
    residentMb = Math.min(residentMb, residentBytes(gatehouse) / MB);
  }
  load.resume();
  const requests = [...load.tally.outcomes.values()].reduce((sum, count) => sum + count, 0);
  return {
    minute: (performance.now() - startedAt) / 60_000,
    residentMb,
    heapMb,
    files: openFiles(gatehouse),
    requests,
  };
}

/** Counts after the load, because how many connections are open under load depends on how busy the machine is. */
async function countMoreFiles(): Promise<number> {
  const until = performance.now() + CLOSING_MS;
  for (;;) {
    const more = filesBesideConnections(gatehouse) - filesBefore;
    if (more <= MAX_MORE_FILES || performance.now() > until) return more;
    await Bun.sleep(100);
  }
}

function evaluate(): boolean {
  print("");
  for (const [outcome, count] of [...load.tally.outcomes].sort())
    print(`${String(count).padStart(8)}  ${outcome}`);
  const evaluated = samples.filter(({ minute }) => minute * 60_000 >= WARM_UP_MS);
  const perTenMinutes = (pick: (sample: Sample) => number) =>
    10 * slopeOf(evaluated.map((sample) => ({ x: sample.minute, y: pick(sample) })));
  const growth = perTenMinutes(({ residentMb }) => residentMb);
  const first = evaluated[0];
  const last = evaluated.at(-1);
  if (first === undefined || last === undefined) throw new Error("The run is too short to evaluate.");
  const problems = [...load.tally.outcomes.keys()].filter((outcome) => outcome.includes("error: "));
  const verdicts: [what: string, isGood: boolean][] = [
    [
      `${load.tally.serverErrors.length} responses with status 500 and above`,
      load.tally.serverErrors.length === 0,
    ],
    [`${problems.length} kinds of errors at the client`, problems.length === 0],
    [
      `resident memory ${growth.toFixed(2)} MB in ten minutes (heap ${perTenMinutes(({ heapMb }) => heapMb).toFixed(2)} MB), ` +
        `${first.residentMb.toFixed(1)} to ${last.residentMb.toFixed(1)} MB`,
      isLong ? growth < MAX_MB_IN_TEN_MINUTES : last.residentMb - first.residentMb < MAX_MB_IN_SHORT_RUN,
    ],
    [`${moreFiles} more open files after the load than before it`, moreFiles <= MAX_MORE_FILES],
  ];
  print("");
  for (const [what, isGood] of verdicts) print(`${isGood ? "good" : "BAD "}  ${what}`);
  return verdicts.every(([, isGood]) => isGood);
}
