// Statistics and tables of the benchmarks.

export interface Measurement {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  /** The largest value that is acceptable. Printed with pass or FAIL; a failure sets the exit code. */
  readonly atMost?: number;
  readonly note?: string;
}

export function printTable(title: string, rows: readonly Measurement[]): void {
  console.log(`\n${title}`);
  const width = Math.max(...rows.map((row) => row.what.length));
  for (const { what, value, unit, atMost, note } of rows) {
    const remarks = [atMost === undefined ? undefined : verdict(value, atMost, unit), note];
    const line = `  ${what.padEnd(width)}  ${shownValue(value).padStart(10)} ${unit}`;
    console.log([line, ...remarks.filter((remark) => remark !== undefined)].join("   "));
  }
}

function shownValue(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(value >= 10 ? 1 : 3);
}

function verdict(value: number, atMost: number, unit: string): string {
  const passes = value <= atMost;
  if (!passes) process.exitCode = 1;
  return `at most ${atMost.toLocaleString("en")} ${unit}: ${passes ? "pass" : "FAIL"}`;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN;
}

/** Resolves to the milliseconds of each call; the calls run one after another. */
export async function timeEach(count: number, work: (index: number) => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let index = 0; index < count; index++) {
    const started = performance.now();
    await work(index);
    times.push(performance.now() - started);
  }
  return times;
}
