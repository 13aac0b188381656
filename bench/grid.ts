// Prints tables with a name for each row, and saves results as JSON.
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { dirname, join } from "node:path";

export interface GridRow {
  readonly name: string;
  readonly cells: readonly string[];
}

export function printGrid(title: string, columns: readonly string[], rows: readonly GridRow[]): void {
  const first = Math.max(...rows.map((row) => row.name.length));
  const widths = columns.map((column, index) =>
    Math.max(column.length, ...rows.map((row) => (row.cells[index] ?? "").length)),
  );
  const line = (name: string, cells: readonly string[]) =>
    `  ${name.padEnd(first)}  ${widths.map((width, index) => (cells[index] ?? "").padStart(width)).join("  ")}`.trimEnd();
  console.log(`\n${title}\n`);
  console.log(line("", columns));
  for (const row of rows) console.log(line(row.name, row.cells));
}

/** Formats with three significant digits: 12,345, 123, 12.3, 1.23. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en");
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
}

export function formatRatio(value: number, to: number): string {
  const times = value / to;
  if (!Number.isFinite(times)) return "–";
  return `${times < 0.1 ? times.toFixed(4) : formatNumber(times)}×`;
}

/** Writes the results and a description of the machine to `out`, or to a new file in bench/results. */
export function saveResults(bench: string, out: string, results: unknown): void {
  const stamp = new Date().toISOString().replaceAll(/[:.]/g, "-");
  const file = out === "" ? join(import.meta.dir, "results", `${bench}-${stamp}.json`) : out;
  mkdirSync(dirname(file), { recursive: true });
  const cpu = cpus();
  const machine = {
    cpu: cpu[0]?.model,
    cores: cpu.length,
    kernel: process.platform,
    bun: Bun.version,
    load: loadavg(),
  };
  writeFileSync(
    file,
    `${JSON.stringify({ bench, at: new Date().toISOString(), machine, results }, null, 2)}\n`,
  );
  console.log(`\nWritten to ${file}`);
}
