// The official SDKs of MCP as clients: list and call the tools of three servers behind one endpoint, of which one speaks both
// generations of the protocol, one only sessions, and one only the stateless generation.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "bun:test";
import { FakeMcpServer } from "../../src/fake-provider/mcp-server.ts";
import { seedMcp } from "../support/mcp-fixtures.ts";
import { seedKey } from "../support/proxy-fixtures.ts";
import { isInstalled } from "../support/required-program.ts";
import { useGatehouseProcess } from "../support/use-gatehouse.ts";
import { hasSdk, runProgram } from "./installed-client.ts";

const gatehouse = await useGatehouseProcess();
const servers = (["both", "session", "stateless"] as const).map((generation) => ({
  generation,
  server: new FakeMcpServer({ generation }),
}));
afterAll(() => Promise.all(servers.map(({ server }) => server.stop())));

const urls = Object.fromEntries(servers.map(({ generation, server }) => [generation, server.url]));
const endpoint = seedMcp(gatehouse, urls, { gateway: { require_api_key: true } }).then(
  async ({ url, gateway }) => ({
    GATEHOUSE_URL: url,
    GATEHOUSE_KEY: (await seedKey(gatehouse, gateway)).key,
  }),
);

const PREFIXES = ["both", "session", "stateless"];
const ofEach = <T>(value: T) => Object.fromEntries(PREFIXES.map((prefix) => [prefix, value]));
const EXPECTED = {
  tools: PREFIXES.flatMap((prefix) =>
    ["add", "echo", "fail", "get_weather", "slow"].map((name) => `${prefix}__${name}`),
  ),
  sums: ofEach(5),
  progress: ofEach(1),
  failed: true,
  unknown: -32602,
  prompts: PREFIXES.map((prefix) => `${prefix}__greeting`),
  prompt: "Say hello.",
  resources: PREFIXES.map((prefix) => `${prefix}+fake://readme`),
  texts: PREFIXES.map(() => "A fake resource."),
};

async function run(command: readonly string[], env: Record<string, string> = {}): Promise<unknown> {
  const result = await runProgram(command, import.meta.dir, { ...(await endpoint), ...env });
  if (result.code !== 0) throw new Error(result.stderr);
  return JSON.parse(result.stdout.trim().split("\n").at(-1) ?? "");
}

const program = (name: string) => join(import.meta.dir, "programs", name);

const hasFirst = hasSdk("@modelcontextprotocol/sdk");
test.skipIf(!hasFirst)(
  "the TypeScript SDK 1.x",
  async () => {
    expect(await run(["node", program("mcp-sdk.mjs")])).toEqual({ ...EXPECTED, version: "2025-11-25" });
  },
  100_000,
);

const hasSecond = hasSdk("@modelcontextprotocol/client");
describe.skipIf(!hasSecond)("the TypeScript SDK 2.x", () => {
  test.each(["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"])(
    "in protocol version %s",
    async (version) => {
      const used = await run(["node", program("mcp-client.mjs")], { MCP_VERSION: version });
      expect(used).toEqual({ ...EXPECTED, version });
    },
    100_000,
  );
});

const PYTHON_FOLDER = "test/clients/python";
const python = join(import.meta.dir, "python/.venv/bin/python");
const hasPython = isInstalled(existsSync(python) ? python : null, {
  name: "The Python SDK of MCP",
  tests: "the tests with the Python SDK of MCP",
  install: `python3 -m venv ${PYTHON_FOLDER}/.venv && ${PYTHON_FOLDER}/.venv/bin/pip install -r ${PYTHON_FOLDER}/requirements.txt`,
  // CI has Node and npm.
  isOptionalInCi: true,
});
describe.skipIf(!hasPython)("the Python SDK", () => {
  test.each([
    { mode: "2026-07-28", version: "2026-07-28" },
    { mode: "legacy", version: "2025-11-25" },
  ])(
    "in protocol version $version",
    async ({ mode, version }) => {
      const used = await run([python, program("mcp-python-sdk.py")], { MCP_VERSION: mode });
      expect(used).toEqual({ ...EXPECTED, version });
    },
    100_000,
  );
});
