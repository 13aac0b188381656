// Prints a comparison: a table for each workload, every value also as a ratio to nginx with the same workload.
import type { Comparison } from "./comparison.ts";
import type { PlotSeries } from "./cost-plot.ts";
import { formatNumber, formatRatio, printGrid, type GridRow } from "./grid.ts";
import { warmRequestsFor, type Round } from "./measure-round.ts";
import { median } from "./report.ts";
import { CONVERSATION } from "./workload.ts";

const COLUMNS = {
  requestsPerSecond: "requests/s",
  cpuMicroseconds: "CPU µs/req",
  p50Ms: "p50 ms",
  p99Ms: "p99 ms",
  idleMiB: "idle MiB",
  steadyMiB: "steady MiB",
  peakMiB: "peak MiB",
  perByteInFlight: "above idle ÷ in flight",
  returnedPerByteInFlight: "above rest ÷ in flight",
  restedMiB: "rested MiB",
  readyMs: "ready ms",
} as const;
type Column = keyof typeof COLUMNS;
const columns = Object.keys(COLUMNS) as Column[];

interface ReportOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  /** Requests of 1 kB that warm a process up, as in the comparison. */
  readonly warmRequests?: number;
}

export function printComparison({ subjects, workloads, rounds }: Comparison, options: ReportOptions): void {
  for (const { name, title, bytes } of workloads) {
    const byId = rounds[name] ?? {};
    const others = ["nginx", "portkey"].filter((other) => byId[other] !== undefined);
    const measured = subjects.filter(({ id }) => (byId[id] ?? []).length > 0);
    const rows = measured.flatMap(({ id, title: subject }): GridRow[] => [
      { name: subject, cells: columns.map((column) => formatNumber(medianOf(byId[id], column))) },
      { name: "  min–max", cells: columns.map((column) => spread(byId[id], column)) },
      ...others
        .filter((other) => other !== id)
        .map((other) => ({
          name: `  to ${other}`,
          cells: columns.map((column) =>
            formatRatio(medianOf(byId[id], column), medianOf(byId[other], column)),
          ),
        })),
    ]);
    printGrid(
      `Comparison, ${name}: ${options.connections} connections, ${title}, ${options.rounds} rounds of ` +
        `${options.seconds} s after ${formatNumber(warmRequestsFor(bytes, options.warmRequests))} requests to warm up, the gateway on its ` +
        `own core; medians`,
      Object.values(COLUMNS),
      rows,
    );
    for (const { id, title: subject } of subjects) {
      const invalid = (byId[id] ?? []).filter(({ failed }) => failed > 0).length;
      if (invalid > 0) console.log(`  INVALID: ${subject} had failed requests in ${invalid} rounds.`);
    }
  }
}

/** Returns the medians of the CPU time per request of valid rounds, for a plot against the body size. */
export function plotSeries({ subjects, workloads, rounds }: Comparison): PlotSeries[] {
  return subjects
    .map(({ id, title }) => ({
      title,
      points: workloads
        .map(({ name, bytes }) => ({
          bytes,
          microseconds: medianOf(
            rounds[name]?.[id]?.filter(({ failed }) => failed === 0),
            "cpuMicroseconds",
          ),
          isConversation: name === CONVERSATION,
        }))
        .filter(({ microseconds }) => Number.isFinite(microseconds)),
    }))
    .filter(({ points }) => points.length > 0);
}

function medianOf(rounds: readonly Round[] = [], column: Column): number {
  return median(rounds.map((round) => round[column]));
}

function spread(rounds: readonly Round[] = [], column: Column): string {
  const values = rounds.map((round) => round[column]);
  return `${formatNumber(Math.min(...values))}–${formatNumber(Math.max(...values))}`;
}
