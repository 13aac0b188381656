// The clients that `npm ci --prefix test/clients` and `npm ci --prefix test/clients/coding-agents` install, and how tests run them.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { isInstalled } from "../support/required-program.ts";

const AGENTS = "test/clients/coding-agents";
const agentModules = join(import.meta.dir, "coding-agents", "node_modules");

interface ProgramResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Whether the package of an SDK is installed. Without it, its tests are skipped with a visible warning, and fail in CI. */
export function hasSdk(name: string): boolean {
  return hasPackage(name, join(import.meta.dir, "node_modules"), "test/clients", false);
}

/** Whether the package of a coding agent is installed. CI does not install these because of their size. */
export function hasAgent(name: string): boolean {
  return hasPackage(name, agentModules, AGENTS, true);
}

function hasPackage(name: string, modules: string, folder: string, isOptionalInCi: boolean): boolean {
  return isInstalled(existsSync(join(modules, name)) ? modules : null, {
    name,
    tests: `the tests with ${name}`,
    install: `npm ci --prefix ${folder}`,
    isOptionalInCi,
  });
}

/** Returns the path of the command of a coding agent. */
export function agentCommand(name: string): string {
  return join(agentModules, ".bin", name);
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
