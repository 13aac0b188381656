// Identifies a process, to find out later whether it still runs. Process ids are used again, and containers have their own.
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

interface ProcessOwner {
  readonly pid: number;
  /** When the process was started, as the kernel counts it; empty if that is not known. */
  readonly startedAt: string;
  /** The boot of the machine and the namespace of process ids; empty if they are not known. */
  readonly boot: string;
  readonly namespace: string;
  readonly host: string;
}

export function thisProcess(): ProcessOwner {
  return {
    pid: process.pid,
    startedAt: startOf(process.pid),
    boot: readOrEmpty(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()),
    namespace: readOrEmpty(() => readlinkSync("/proc/self/ns/pid")),
    host: hostname(),
  };
}

/** Returns null if this machine cannot know: a container with another name, or another machine, may run the process. */
export function isRunning(owner: unknown): boolean | null {
  const here = thisProcess();
  if (!isOwner(owner) || owner.host !== here.host) return null;
  // A container that was restarted keeps its name and gets another namespace.
  if (owner.boot !== here.boot || owner.namespace !== here.namespace) return false;
  // The watchdog restarts a process in place.
  if (owner.pid === here.pid || owner.startedAt !== startOf(owner.pid)) return false;
  try {
    process.kill(owner.pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** The 22nd field of /proc/<pid>/stat; the second one is in parentheses and may contain spaces. */
function startOf(pid: number): string {
  return readOrEmpty(
    () =>
      readFileSync(`/proc/${pid}/stat`, "utf8")
        .replace(/^.*\) /s, "")
        .split(" ")[19] ?? "",
  );
}

/** Returns an empty text if the file does not exist or may not be read. */
function readOrEmpty(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}

function isOwner(value: unknown): value is ProcessOwner {
  return (
    typeof value === "object" &&
    value !== null &&
    "pid" in value &&
    typeof value.pid === "number" &&
    "host" in value
  );
}
