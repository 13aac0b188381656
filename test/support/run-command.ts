// Runs commands of the command line in the process of the test. Starting a process for each of many commands would take longer
// than the commands themselves.
import { expect, spyOn } from "bun:test";
import { runCli } from "../../src/cli/main.ts";
import { RUNTIME_ENVIRONMENT } from "../../src/cli/runtime-environment.ts";
import { TEST_SECRET, type RunningGatehouse } from "./gatehouse-process.ts";

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command with this environment and resolves when it ends. */
export async function runCommand(
  args: readonly string[],
  env: Record<string, string>,
): Promise<CommandResult> {
  const printed = { stdout: "", stderr: "" };
  const print = (name: keyof typeof printed) => (text: string) => void (printed[name] += `${text}\n`);
  const spies = [
    spyOn(console, "log").mockImplementation(print("stdout")),
    spyOn(console, "error").mockImplementation(print("stderr")),
  ];
  const before = process.env;
  process.env = { PATH: before["PATH"], ...RUNTIME_ENVIRONMENT, ...env };
  try {
    return { code: await runCli(args), ...printed };
  } finally {
    process.env = before;
    for (const spy of spies) spy.mockRestore();
  }
}

/** Returns the environment in which commands find this gateway. */
export function settingsOf({
  adminUrl,
  proxyUrl,
  dataDir,
}: Pick<RunningGatehouse, "adminUrl" | "proxyUrl" | "dataDir">): Record<string, string> {
  return {
    GATEHOUSE_URL: adminUrl,
    SERVER_SECRET_KEY: TEST_SECRET,
    DATA_DIR: dataDir,
    ADMIN_PORT: new URL(adminUrl).port,
    PROXY_PORT: new URL(proxyUrl).port,
  };
}

/** Expects an exit code, one line on stderr that contains all parts, and nothing on stdout. */
export function expectOneLine(result: CommandResult, code: number, ...parts: readonly string[]): void {
  expect({ code: result.code, stdout: result.stdout }).toEqual({ code, stdout: "" });
  expect(result.stderr.trimEnd().split("\n")).toHaveLength(1);
  for (const part of parts) expect(result.stderr).toContain(part);
}
