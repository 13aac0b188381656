// Portkey's gateway, from a package.json of its own so that it is no part of Gatehouse; installed when it is missing.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { startPinned, type PinnedProcess } from "./pinned-process.ts";

const FOLDER = join(import.meta.dir, "peers");
const PROGRAM = join(FOLDER, "node_modules/@portkey-ai/gateway/build/start-server.js");

/** Null when it can be started, else why not and what to do. */
export function installPortkey(): string | null {
  if (Bun.which("node") === null) return "Portkey needs Node.js, which is not installed (https://nodejs.org)";
  if (existsSync(PROGRAM)) return null;
  console.log("Installing @portkey-ai/gateway into bench/peers, once …");
  const command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"];
  const { exitCode, stderr } = Bun.spawnSync(command, { cwd: FOLDER });
  if (exitCode === 0 && existsSync(PROGRAM)) return null;
  const reason = stderr.toString().trim().split("\n")[0] ?? "";
  return `@portkey-ai/gateway could not be installed (${reason}); run 'npm ci' in bench/peers`;
}

export function startPortkey(port: number, cores: string): PinnedProcess {
  return startPinned(["node", PROGRAM, `--port=${port}`, "--headless"], { cores });
}

/** What a request to it carries so that it calls the provider of the benchmark. */
export function portkeyHeaders(providerUrl: string): Record<string, string> {
  return {
    "x-portkey-provider": "openai",
    "x-portkey-custom-host": `${providerUrl}/v1`,
    Authorization: "Bearer sk-bench-0123456789",
  };
}
