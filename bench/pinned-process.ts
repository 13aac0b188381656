// Starts a process pinned to cores, and stops it at the end of the benchmark.
import { writeFileSync } from "node:fs";
import { pinTo } from "./cores.ts";

export interface PinnedProcess {
  readonly pid: number;
  readonly startedAt: number;
  /** Returns null while the process runs. */
  exitCode(): number | null;
  /** Sends SIGTERM, and SIGKILL if the process does not exit in time. */
  stop(): Promise<void>;
}

interface PinnedOptions {
  readonly cores: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** File for the output; without it, the output is discarded. */
  readonly outputTo?: string;
  /** File for the standard error, if it should not be that of this process. */
  readonly errorsTo?: string;
}

const STOP_MS = 5000;
const READY_MS = 30_000;
const running = new Set<Bun.Subprocess>();
// SIGTERM, because the worker processes of a killed nginx would keep running.
process.on("exit", () => running.forEach((child) => child.kill("SIGTERM")));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(130));

export function startPinned(command: readonly string[], options: PinnedOptions): PinnedProcess {
  const output = options.outputTo === undefined ? "ignore" : Bun.file(options.outputTo);
  const errors =
    options.errorsTo !== undefined
      ? Bun.file(options.errorsTo)
      : options.outputTo === undefined
        ? "ignore"
        : "inherit";
  // A process writes to the start of an existing file, and would leave the rest of what an earlier one wrote.
  if (options.errorsTo !== undefined) writeFileSync(options.errorsTo, "");
  const startedAt = performance.now();
  const child = Bun.spawn(pinTo(options.cores, command), {
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], ...options.env },
    ...(options.cwd !== undefined && { cwd: options.cwd }),
    stdin: "ignore",
    stdout: output,
    stderr: errors,
  });
  running.add(child);
  return {
    pid: child.pid,
    startedAt,
    exitCode: () => child.exitCode,
    async stop() {
      child.kill("SIGTERM");
      const force = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
      await child.exited;
      clearTimeout(force);
      running.delete(child);
    },
  };
}

/** Polls a URL until it returns 200; resolves to the milliseconds since `startedAt`. */
export async function untilReady(
  startedAt: number,
  url: string,
  init: RequestInit = {},
  hasExited: () => boolean = () => false,
): Promise<number> {
  let last = "no connection";
  for (;;) {
    try {
      const response = await fetch(url, { ...init, keepalive: false });
      const text = await response.text();
      if (response.status === 200) return performance.now() - startedAt;
      last = `${response.status} ${text.slice(0, 300)}`;
    } catch {
      // Not listening yet.
    }
    if (performance.now() - startedAt > READY_MS || hasExited())
      throw new Error(`${url} did not return 200: ${last}`);
    await Bun.sleep(2);
  }
}
