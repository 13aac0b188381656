// `npm run bench:check`: measures Gatehouse bare and full with four workloads, compares their CPU per request, as ratios to nginx,
// with bench/baseline.json, and fails if one became slower by more than 10 %. Not part of CI, whose machines are too noisy.
// Flags: --rounds 3 --seconds 2 --connections 64 --body 1k,20k,100k,conversation --out file.json
//        --update writes the measured ratios to bench/baseline.json instead
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compareRatios, TOLERANCE, type Ratios } from "./baseline.ts";
import { compare, requireTools, type Comparison } from "./comparison.ts";
import { readFlags } from "./flags.ts";
import { formatNumber, formatRatio, printGrid, saveResults } from "./grid.ts";
import { WARM_REQUESTS } from "./measure-round.ts";
import { median } from "./report.ts";

const FILE = join(import.meta.dir, "baseline.json");

const flags = readFlags("bench:check", {
  rounds: 3,
  seconds: 2,
  connections: 64,
  body: "1k,20k,100k,conversation",
  update: false,
  out: "",
});
requireTools();
const comparison = await compare("bench:check", {
  ...flags,
  subjects: ["bare", "full"],
  warmRequests: WARM_REQUESTS,
});
const measured = ratiosOf(comparison);
const baseline = existsSync(FILE) ? (JSON.parse(readFileSync(FILE, "utf8")) as Ratios) : {};
const changes = compareRatios(baseline, measured);
printGrid(
  `CPU per request, ratio to nginx: ${flags.rounds} rounds of ${flags.seconds} s, medians of the ratios of each round`,
  ["baseline", "now", "change", ""],
  changes.map(({ workload, subject, before, now, isSlower }) => ({
    name: `${workload}, ${subject}`,
    cells: [
      before === null ? "–" : formatNumber(before),
      formatNumber(now),
      before === null ? "–" : formatRatio(now, before),
      isSlower ? "SLOWER" : "",
    ],
  })),
);
saveResults("check", flags.out, { flags, measured, rounds: comparison.rounds });
if (flags.update) {
  if (changes.some(({ now }) => !Number.isFinite(now))) {
    console.error("bench:check: requests failed, so the baseline was not written");
    process.exit(1);
  }
  writeFileSync(FILE, `${JSON.stringify({ ...baseline, ...measured }, null, 2)}\n`);
  console.log(`Baseline written to ${FILE}`);
  process.exit(0);
}
const slower = changes.filter(({ isSlower }) => isSlower);
for (const { workload, subject, before, now } of slower)
  console.log(
    `SLOWER: ${workload}, ${subject} takes ${formatNumber(now)} times the CPU of nginx, ${formatNumber(before ?? 0)} in the baseline`,
  );
if (slower.length === 0)
  console.log(`Nothing is slower than the baseline by more than ${TOLERANCE * 100} %.`);
process.exit(slower.length === 0 ? 0 : 1);

/** The nginx round before a round had similar load on the machine, so ratios are taken within a round. */
function ratiosOf({ workloads, rounds }: Comparison): Ratios {
  return Object.fromEntries(
    workloads.map(({ name }) => {
      const { nginx = [], ...others } = rounds[name] ?? {};
      const ratios = Object.entries(others).map(([id, own]) => {
        // A round with failed requests is invalid.
        const each = own.map(({ cpuMicroseconds, failed }, index) =>
          failed > 0 ? Number.POSITIVE_INFINITY : cpuMicroseconds / (nginx[index]?.cpuMicroseconds ?? 0),
        );
        return [id, Math.round(median(each) * 100) / 100];
      });
      return [name, Object.fromEntries(ratios)];
    }),
  );
}
