// The clients that `npm ci --prefix test/clients` installs, and how tests run them.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { isInstalled } from "../support/required-program.ts";

const modules = join(import.meta.dir, "node_modules");

interface ProgramResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Whether the package is installed. Without it, its tests are skipped with a visible warning, and fail in CI unless the package
 * is optional there.
 */
export function hasClient(name: string, isOptionalInCi = false): boolean {
  return isInstalled(existsSync(join(modules, name)) ? modules : null, {
    name,
    tests: `the tests with ${name}`,
    install: "npm ci --prefix test/clients",
    isOptionalInCi,
  });
}

export function commandOf(name: string): string {
  return join(modules, ".bin", name);
}

/** Runs a program to its end. It sees only the given environment. */
export async function runProgram(
  command: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>>,
): Promise<ProgramResult> {
  const child = Bun.spawn([...command], {
    cwd,
    env: { PATH: process.env["PATH"] ?? "", ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: 90_000,
    killSignal: "SIGKILL",
  });
  const [code, stdout, stderr] = await Promise.all([
    child.exited,
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { code, stdout, stderr };
}
