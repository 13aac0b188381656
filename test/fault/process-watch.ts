// What a gateway under attack is watched for: its memory, its files, and what it prints.
import { readdirSync } from "node:fs";
import { residentBytes } from "../support/balancing-fixtures.ts";
import type { GatehouseProcess } from "../support/gatehouse-process.ts";

export const MB = 1 << 20;

/** What was printed besides log lines up to `info`, and lines of the levels that this test expects. */
export function complaints(
  { output }: Pick<GatehouseProcess, "output">,
  expected: RegExp | null = null,
): string[] {
  return output()
    .split("\n")
    .filter((line) => line !== "" && !isOrdinary(line) && expected?.test(line) !== true);
}

function isOrdinary(line: string): boolean {
  try {
    return ["trace", "debug", "info"].includes((JSON.parse(line) as { level: string }).level);
  } catch {
    return false;
  }
}

export function openFiles({ pid }: GatehouseProcess): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** The most memory that the process had while the work was done, looked at often. */
export async function peakWhile<T>(
  gatehouse: GatehouseProcess,
  work: () => Promise<T>,
): Promise<{ result: T; peak: number; before: number }> {
  const before = residentBytes(gatehouse);
  let peak = before;
  const looking = setInterval(() => (peak = Math.max(peak, residentBytes(gatehouse))), 10);
  try {
    const result = await work();
    return { result, peak: Math.max(peak, residentBytes(gatehouse)), before };
  } finally {
    clearInterval(looking);
  }
}
