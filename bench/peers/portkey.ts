// Portkey's gateway. It has a separate package.json, so that it is not a dependency of Gatehouse; installed on demand.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { startPinned, type PinnedProcess } from "../pinned-process.ts";

const FOLDER = import.meta.dir;
const PROGRAM = join(FOLDER, "node_modules/@portkey-ai/gateway/build/start-server.js");

/** Installs it if needed. Returns null on success, else the problem and how to fix it. */
export function installPortkey(): string | null {
  if (Bun.which("node") === null) return "Portkey needs Node.js, which is not installed (https://nodejs.org)";
  if (existsSync(PROGRAM)) return null;
  console.log("Installing @portkey-ai/gateway into bench/peers …");
  const command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"];
  const { exitCode, stderr } = Bun.spawnSync(command, { cwd: FOLDER });
  if (exitCode === 0 && existsSync(PROGRAM)) return null;
  const reason = stderr.toString().trim().split("\n")[0] ?? "";
  return `@portkey-ai/gateway could not be installed (${reason}); run 'npm ci' in bench/peers`;
}

export function startPortkey(port: number, cores: string): PinnedProcess {
  return startPinned(["node", PROGRAM, `--port=${port}`, "--headless"], { cores });
}

/** Returns the headers that make it forward a request to the benchmark's provider. */
export function portkeyHeaders(providerUrl: string): Record<string, string> {
  return {
    "x-portkey-provider": "openai",
    "x-portkey-custom-host": `${providerUrl}/v1`,
    Authorization: "Bearer sk-bench-0123456789",
  };
}
