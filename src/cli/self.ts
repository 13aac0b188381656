// This very program, to be started anew: as a file that Bun runs, or as an executable of its own.
import { join } from "node:path";

/** Bun reads it before any of our code runs; without it a process makes 256 requests at a time and no more. */
export const MAX_REQUESTS_SETTING = "BUN_CONFIG_MAX_HTTP_REQUESTS";
const MAX_REQUESTS = "65000";

export function selfCommand(...words: readonly string[]): string[] {
  if (Bun.isStandaloneExecutable) return [process.execPath, ...words];
  return [process.execPath, join(import.meta.dir, "main.ts"), ...words];
}

/** The environment in which a process of ours is to run. */
export function selfEnvironment(): Record<string, string | undefined> {
  return { ...process.env, [MAX_REQUESTS_SETTING]: process.env[MAX_REQUESTS_SETTING] ?? MAX_REQUESTS };
}

/**
 * Where the launcher has not set the bound on outgoing requests, this process becomes one that has it: the same
 * process id, files and words. An executable of its own has no launcher.
 */
export function becomeUnbounded(): void {
  if (process.env[MAX_REQUESTS_SETTING] !== undefined || process.execve === undefined) return;
  const [program = "", ...words] = selfCommand(...process.argv.slice(2));
  const environment = Object.entries(selfEnvironment()).filter(([, value]) => value !== undefined);
  process.execve(program, [program, ...words], Object.fromEntries(environment));
}
