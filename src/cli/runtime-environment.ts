// The environment variables that Bun reads before any of our code runs, and the command that starts this program again: as a
// file that Bun runs, or as a single executable.
import { join } from "node:path";

/** Maximum number of concurrent outgoing requests of a process; Bun's default is 256. */
export const MAX_REQUESTS_VARIABLE = "BUN_CONFIG_MAX_HTTP_REQUESTS";

/** Defaults for variables that are not set. The launcher, bin/gatehouse, sets the same. */
export const RUNTIME_ENVIRONMENT: Readonly<Record<string, string>> = {
  [MAX_REQUESTS_VARIABLE]: "65000",
  // The first collection happens when the heap reaches 28 MiB (default 8), the next ones when it has grown by 90 % of the live
  // objects (default 200 %): less CPU with a small configuration, less memory with a large one. Freed memory is returned to
  // the system after 1 s (default: immediately), because under load it is needed again before. See decision 0001.
  BUN_JSC_largeHeapSize: String(28 * 1024 * 1024),
  BUN_JSC_heapGrowthMaxIncrease: "0.9",
  MIMALLOC_PURGE_DELAY: "1000",
};

/** Returns the command line that runs this program with `args`. */
export function gatehouseCommand(...args: readonly string[]): string[] {
  if (Bun.isStandaloneExecutable) return [process.execPath, ...args];
  return [process.execPath, join(import.meta.dir, "main.ts"), ...args];
}

/** Returns the environment for a child process of this program. */
export function gatehouseEnvironment(): Record<string, string | undefined> {
  return { ...RUNTIME_ENVIRONMENT, ...process.env };
}

/**
 * If the runtime environment is not complete, replaces this process by one that has it, with the same process id, open
 * files, and arguments. Needed for the single executable, which has no launcher.
 */
export function reexecWithRuntimeEnvironment(): void {
  const isSet = Object.keys(RUNTIME_ENVIRONMENT).every((name) => process.env[name] !== undefined);
  if (isSet || process.execve === undefined) return;
  const [program = "", ...args] = gatehouseCommand(...process.argv.slice(2));
  const environment = Object.entries(gatehouseEnvironment()).filter(([, value]) => value !== undefined);
  process.execve(program, [program, ...args], Object.fromEntries(environment));
}
