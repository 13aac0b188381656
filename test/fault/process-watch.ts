// Observes a gateway under attack: its memory, open files, and output.
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { residentBytes } from "../support/balancing-fixtures.ts";
import type { GatehouseProcess } from "../support/gatehouse-process.ts";

export const MB = 1 << 20;

/** Returns the output except log lines up to level `info` and lines that match `expected`. */
export function unexpectedOutput(
  { output }: Pick<GatehouseProcess, "output">,
  expected: RegExp | null = null,
): string[] {
  return output()
    .split("\n")
    .filter((line) => line !== "" && !isUpToInfo(line) && expected?.test(line) !== true);
}

function isUpToInfo(line: string): boolean {
  try {
    return ["trace", "debug", "info"].includes((JSON.parse(line) as { level: string }).level);
  } catch {
    return false;
  }
}

export function openFiles({ pid }: GatehouseProcess): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** The state ESTABLISHED in /proc/net/tcp. */
const ESTABLISHED = "01";

/** The number of open files without connections that are open on both sides: clients and gateway may keep those for later requests. */
export function filesBesideConnections({ pid }: GatehouseProcess): number {
  const established = new Set<string>();
  for (const table of ["tcp", "tcp6"]) {
    for (const line of readFileSync(`/proc/${pid}/net/${table}`, "utf8").split("\n")) {
      const [, , , state, , , , , , inode] = line.trim().split(/\s+/);
      if (state === ESTABLISHED) established.add(`socket:[${inode}]`);
    }
  }
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).filter((file) => !established.has(linkIn(folder, file))).length;
}

function linkIn(folder: string, file: string): string {
  try {
    return readlinkSync(join(folder, file));
  } catch {
    return "closed since it was listed";
  }
}

const MEMORY_SAMPLES = 100;
const SAMPLE_PAUSE_MS = 20;

/** Returns the lowest memory of the process in samples of about two seconds, during which it can collect garbage. */
export async function lowestMemory(
  gatehouse: GatehouseProcess,
  request: () => Promise<unknown>,
): Promise<number> {
  let lowest = Infinity;
  for (let sample = 0; sample < MEMORY_SAMPLES; sample++) {
    await request();
    lowest = Math.min(lowest, residentBytes(gatehouse));
    await Bun.sleep(SAMPLE_PAUSE_MS);
  }
  return lowest;
}

/** Measures the peak memory of the process every 10 ms while `work` runs. */
export async function measurePeakMemory<T>(
  gatehouse: GatehouseProcess,
  work: () => Promise<T>,
): Promise<{ result: T; peak: number; before: number }> {
  const before = residentBytes(gatehouse);
  let peak = before;
  const timer = setInterval(() => (peak = Math.max(peak, residentBytes(gatehouse))), 10);
  try {
    const result = await work();
    return { result, peak: Math.max(peak, residentBytes(gatehouse)), before };
  } finally {
    clearInterval(timer);
  }
}
