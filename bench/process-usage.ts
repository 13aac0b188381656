// The resources that a process and its descendants have used, read from /proc.
import { readdirSync, readFileSync } from "node:fs";

/** The unit of times in /proc (USER_HZ), which is the same for every kernel configuration. */
const TICKS_PER_SECOND = 100;

interface Usage {
  readonly cpuMicroseconds: number;
  /** How long runnable threads waited for a core. */
  readonly waitedMicroseconds: number;
  readonly residentBytes: number;
  readonly processes: number;
}

export function usageOf(pid: number): Usage {
  let [cpuMicroseconds, waitedMicroseconds, residentBytes, processes] = [0, 0, 0, 0];
  for (const each of withDescendants(pid)) {
    const stat = read(`/proc/${each}/stat`);
    if (stat === null) continue;
    cpuMicroseconds += cpuIn(stat);
    for (const thread of threadIdsOf(each)) {
      const [, waited = "0"] = (read(`/proc/${each}/task/${thread}/schedstat`) ?? "").split(" ");
      waitedMicroseconds += Number(waited) / 1000;
    }
    residentBytes += residentBytesOf(each);
    processes++;
  }
  return { cpuMicroseconds, waitedMicroseconds, residentBytes, processes };
}

/** Returns the child processes of a process, in the order of their start. */
export function childrenOf(pid: number): number[] {
  const children = read(`/proc/${pid}/task/${pid}/children`) ?? "";
  return children.split(" ").filter(Boolean).map(Number);
}

/** Returns the command line of a process, which changes when it executes another program. */
export function commandOf(pid: number): string[] {
  return (read(`/proc/${pid}/cmdline`) ?? "").split("\0");
}

/** Returns the resident memory of one process without its descendants. */
export function residentBytesOf(pid: number): number {
  const [, kilobytes = "0"] = /^VmRSS:\s+(\d+) kB/m.exec(read(`/proc/${pid}/status`) ?? "") ?? [];
  return Number(kilobytes) * 1024;
}

/** Returns the CPU microseconds of the threads of one process, by thread name. */
export function threadsOf(pid: number): Map<string, number> {
  const threads = new Map<string, number>();
  for (const thread of threadIdsOf(pid)) {
    const stat = read(`/proc/${pid}/task/${thread}/stat`);
    if (stat === null) continue;
    const name = Number(thread) === pid ? "main" : stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")"));
    threads.set(name, (threads.get(name) ?? 0) + cpuIn(stat));
  }
  return threads;
}

/** The name in parentheses may contain any character; the field after it is the third one, the state. See proc(5). */
function cpuIn(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return ((Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND) * 1e6;
}

function withDescendants(pid: number): number[] {
  const all = [pid];
  for (let index = 0; index < all.length; index++) all.push(...childrenOf(all[index] as number));
  return all;
}

function threadIdsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

/** Returns null if the process has exited. */
function read(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return null;
  }
}
