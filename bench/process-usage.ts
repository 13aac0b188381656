// What a process and all that it started have used so far, read from /proc.
import { readFileSync } from "node:fs";

/** Linux tells user space of time in these, whatever the kernel counts in. */
const TICKS_A_SECOND = 100;

export interface Usage {
  readonly cpuMicroseconds: number;
  readonly residentBytes: number;
  readonly processes: number;
}

export function usageOf(pid: number): Usage {
  let [ticks, residentBytes, processes] = [0, 0, 0];
  for (const each of withDescendants(pid)) {
    const stat = read(`/proc/${each}/stat`);
    if (stat === null) continue;
    // The name in brackets may hold anything; the fields behind it start with the state, the third of all.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    ticks += Number(fields[11]) + Number(fields[12]);
    const [, kilobytes = "0"] = /^VmRSS:\s+(\d+) kB/m.exec(read(`/proc/${each}/status`) ?? "") ?? [];
    residentBytes += Number(kilobytes) * 1024;
    processes++;
  }
  return { cpuMicroseconds: (ticks / TICKS_A_SECOND) * 1e6, residentBytes, processes };
}

function withDescendants(pid: number): number[] {
  const all = [pid];
  for (let index = 0; index < all.length; index++) {
    const parent = all[index] as number;
    const children = read(`/proc/${parent}/task/${parent}/children`) ?? "";
    all.push(...children.split(" ").filter(Boolean).map(Number));
  }
  return all;
}

/** Null when it has ended meanwhile. */
function read(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return null;
  }
}
