// Identifies a process, to find out later whether it still runs. Process ids are used again, and containers have their own.
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { errorCode } from "../base/error-code.ts";

interface ProcessOwner {
  readonly pid: number;
  /** When the process was started, as the kernel counts it; empty if that is not known. */
  readonly startedAt: string;
  /** The boot of the machine and the namespace of process ids; empty if they are not known. */
  readonly boot: string;
  readonly namespace: string;
  readonly host: string;
}

/** The facts about a process that /proc has. */
interface ProcessFacts {
  readonly startedAt: string;
  /** It executes no further instruction of its program: it is a zombie, exits, or was sent SIGKILL. */
  readonly isEnding: boolean;
}

/** Positions in /proc/<pid>/stat after the name of the program. */
const STATE = 0;
const FLAGS = 6;
const STARTED_AT = 19;
/** PF_EXITING and PF_SIGNALED of the Linux kernel: between the two, a process may have no other sign that it ends. */
const ENDING = 0x4 | 0x400;
const SIGKILL_BIT = 1n << 8n;

export function thisProcess(): ProcessOwner {
  return {
    pid: process.pid,
    startedAt: factsOf(process.pid)?.startedAt ?? "",
    boot: readOrEmpty(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()),
    namespace: readOrEmpty(() => readlinkSync("/proc/self/ns/pid")),
    host: hostname(),
  };
}

/**
 * Returns null if this process cannot know: another machine or another container may run the process. A restarted container can have a
 * new namespace under the old name, but so has a second container of that name.
 */
export function isRunning(owner: unknown): boolean | null {
  const here = thisProcess();
  if (!isOwner(owner) || owner.host !== here.host) return null;
  if (owner.boot !== here.boot || owner.namespace !== here.namespace) return null;
  // The watchdog restarts a process in place.
  if (owner.pid === here.pid) return false;
  const facts = factsOf(owner.pid);
  if (facts !== null) return facts.startedAt === owner.startedAt && !facts.isEnding;
  // Without /proc, a process with this id may be a zombie or another program.
  return isIdInUse(owner.pid) ? null : false;
}

/** Reads the texts of /proc/<pid>/stat and /proc/<pid>/status. */
export function readProcessFacts(stat: string, status: string): ProcessFacts {
  // The name of the program is in parentheses, and may contain spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const isZombie = ["Z", "X", "x"].includes(fields[STATE] ?? "");
  const isExiting = (Number(fields[FLAGS] ?? 0) & ENDING) !== 0;
  const pending = status.matchAll(/^(?:SigPnd|ShdPnd):\s*([0-9a-f]+)$/gm);
  const isKilled = [...pending].some(([, mask]) => (BigInt(`0x${mask ?? 0}`) & SIGKILL_BIT) !== 0n);
  return { startedAt: fields[STARTED_AT] ?? "", isEnding: isZombie || isExiting || isKilled };
}

/** Returns null if there is no such process, or no /proc. */
function factsOf(pid: number): ProcessFacts | null {
  const stat = readOrEmpty(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  if (stat === "") return null;
  return readProcessFacts(
    stat,
    readOrEmpty(() => readFileSync(`/proc/${pid}/status`, "utf8")),
  );
}

function isIdInUse(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === "EPERM";
  }
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
    "host" in value &&
    "boot" in value &&
    "namespace" in value
  );
}
