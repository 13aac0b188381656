// The commands of the README work when pasted: `npm start`, then every shell block of the walkthrough in one shell.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../support/gatehouse-process.ts";
import { freePort } from "../support/postgres.ts";
import { waitUntil } from "../support/waiting.ts";

const ROOT = join(import.meta.dir, "../..");
const README = readFileSync(join(ROOT, "README.md"), "utf8");

/** Replaces only the ports, because those of the README may be in use. */
async function replacePorts(commands: string): Promise<{ commands: string; admin: number; proxy: number }> {
  const [admin, proxy, provider] = [await freePort(), await freePort(), await freePort()];
  const replaced = commands
    .replaceAll("127.0.0.1:8080", `127.0.0.1:${admin}`)
    .replaceAll("127.0.0.1:8081", `127.0.0.1:${proxy}`)
    .replaceAll("9099", String(provider));
  return { commands: replaced, admin, proxy };
}

function shellBlocks(text: string): string[] {
  return [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map((match) => match[1] ?? "");
}

const dataDir = temporaryDirectory();
const walkthrough = README.slice(README.indexOf("## Route your first request"));
let started: ReturnType<typeof Bun.spawn>;
let commands = "";
let environment: Record<string, string | undefined> = {};

beforeAll(async () => {
  const prepared = await replacePorts(shellBlocks(walkthrough).join("\n"));
  ({ commands } = prepared);
  environment = { PATH: process.env["PATH"], HOME: process.env["HOME"], DATA_DIR: dataDir };
  const ports = { ADMIN_PORT: String(prepared.admin), PROXY_PORT: String(prepared.proxy) };
  started = Bun.spawn(["npm", "start"], { cwd: ROOT, env: { ...environment, ...ports }, stdout: "ignore" });
  await waitUntil(async () => {
    const ready = await fetch(`http://127.0.0.1:${prepared.admin}/readyz`).catch(() => null);
    return ready?.status === 200;
  });
});

afterAll(async () => {
  started.kill("SIGTERM");
  await started.exited;
  rmSync(dataDir, { recursive: true, force: true });
});

test("starts with the commands to run and to test the gateway", () => {
  const [start, tests] = shellBlocks(README);
  expect([start, tests]).toEqual(["npm install && npm start\n", "npm install && npm test\n"]);
});

test("the walkthrough routes a request", async () => {
  // The first block starts the fake provider in the background. The trap stops it.
  const script = `set -eu\ntrap 'kill $(jobs -p) 2>/dev/null' EXIT\n${commands}\n`;
  const shell = Bun.spawn(["bash", "-c", script], {
    cwd: ROOT,
    env: environment,
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, errors, exitCode] = [
    await new Response(shell.stdout).text(),
    await new Response(shell.stderr).text(),
    await shell.exited,
  ];
  expect(errors).toBe("");
  expect(exitCode).toBe(0);
  expect(output).toContain("HTTP/1.1 200 OK");
  expect(output).toMatch(/x-gw-provider: openai/i);
  expect(output).toContain("Hello from");
});
