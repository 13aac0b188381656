// Starts a process on cores of its own and ends it with the benchmark.
import { pinTo } from "./cores.ts";

export interface PinnedProcess {
  readonly pid: number;
  readonly startedAt: number;
  /** Ends it as an operator would; by force when it does not in time. */
  stop(): Promise<void>;
}

export interface PinnedOptions {
  readonly cores: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** A file that takes what it prints; without one, that is lost. */
  readonly outputTo?: string;
}

const STOP_MS = 5000;
const running = new Set<Bun.Subprocess>();
// Not by force: a killed nginx leaves its workers behind.
process.on("exit", () => running.forEach((child) => child.kill("SIGTERM")));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(130));

export function startPinned(command: readonly string[], options: PinnedOptions): PinnedProcess {
  const output = options.outputTo === undefined ? "ignore" : Bun.file(options.outputTo);
  const startedAt = performance.now();
  const child = Bun.spawn(pinTo(options.cores, command), {
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], ...options.env },
    ...(options.cwd !== undefined && { cwd: options.cwd }),
    stdin: "ignore",
    stdout: output,
    stderr: options.outputTo === undefined ? "ignore" : "inherit",
  });
  running.add(child);
  return {
    pid: child.pid,
    startedAt,
    async stop() {
      child.kill("SIGTERM");
      const force = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
      await child.exited;
      clearTimeout(force);
      running.delete(child);
    },
  };
}

/** Polls an address until it answers 200; returns the milliseconds since `startedAt`. */
export async function untilReady(
  startedAt: number,
  url: string,
  init: RequestInit = {},
  deadlineMs = 30_000,
): Promise<number> {
  let last = "nothing listens there";
  for (;;) {
    try {
      const answer = await fetch(url, { ...init, keepalive: false });
      const text = await answer.text();
      if (answer.status === 200) return performance.now() - startedAt;
      last = `${answer.status} ${text.slice(0, 300)}`;
    } catch {
      // Not there yet.
    }
    if (performance.now() - startedAt > deadlineMs) throw new Error(`${url} did not answer 200: ${last}`);
    await Bun.sleep(2);
  }
}

export function freePort(): number {
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => undefined } });
  listener.stop(true);
  return listener.port;
}
