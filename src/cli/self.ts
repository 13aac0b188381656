// This very program, to be started anew: as a file that Bun runs, or as an executable of its own.
import { join } from "node:path";

/** Without it a process makes 256 requests at a time and no more. */
export const MAX_REQUESTS_SETTING = "BUN_CONFIG_MAX_HTTP_REQUESTS";

/** What Bun reads before any of our code runs, where nobody has set it. The launcher sets the same. */
export const RUNTIME_SETTINGS: Readonly<Record<string, string>> = {
  [MAX_REQUESTS_SETTING]: "65000",
  // The heap may grow to 28 MiB before it is collected at all (8 is the default), and by nine tenths of what lives in it (by
  // twice that): less CPU for a small configuration, less memory for a large one. What a collection frees goes back to the
  // system a second later (at once), because under load it is wanted again before. See decision 0001.
  BUN_JSC_largeHeapSize: String(28 * 1024 * 1024),
  BUN_JSC_heapGrowthMaxIncrease: "0.9",
  MIMALLOC_PURGE_DELAY: "1000",
};

export function selfCommand(...words: readonly string[]): string[] {
  if (Bun.isStandaloneExecutable) return [process.execPath, ...words];
  return [process.execPath, join(import.meta.dir, "main.ts"), ...words];
}

/** The environment in which a process of ours is to run. */
export function selfEnvironment(): Record<string, string | undefined> {
  return { ...RUNTIME_SETTINGS, ...process.env };
}

/**
 * Where no launcher has set what the runtime is to read, this process becomes one that has it: the same process id,
 * files and words. An executable of its own has no launcher.
 */
export function takeRuntimeSettings(): void {
  const isSet = Object.keys(RUNTIME_SETTINGS).every((name) => process.env[name] !== undefined);
  if (isSet || process.execve === undefined) return;
  const [program = "", ...words] = selfCommand(...process.argv.slice(2));
  const environment = Object.entries(selfEnvironment()).filter(([, value]) => value !== undefined);
  process.execve(program, [program, ...words], Object.fromEntries(environment));
}
