// Reads processor time and state of the main thread of a process from /proc.
import { readFileSync } from "node:fs";
import type { MainThread } from "./heartbeat-monitor.ts";

/** Unit of the times in /proc/…/stat; Linux reports hundredths of a second on every platform that Bun supports. */
const TICK_MS = 10;

/** Returns null where /proc does not exist, as on macOS, and if the process has ended. */
export function readMainThread(pid: number): MainThread | null {
  try {
    return parseStat(readFileSync(`/proc/${pid}/task/${pid}/stat`, "utf8"));
  } catch {
    return null;
  }
}

/** See proc_pid_stat(5). The name of the thread is in parentheses and may contain spaces and parentheses. */
function parseStat(stat: string): MainThread {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state = ""] = fields;
  const ticks = Number(fields[11]) + Number(fields[12]);
  return { cpuMs: ticks * TICK_MS, isStopped: state === "T" || state === "t" };
}
