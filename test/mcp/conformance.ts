// Runs the public conformance suites of MCP against a server built with the official SDK, directly and through the gateway: every
// check that passes directly must pass through the gateway. Run with `npm run test:mcp`; needs `npm ci --prefix test/mcp`.
import { afterAll, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { isInstalled } from "../support/required-program.ts";
import { seedMcp } from "../support/mcp-fixtures.ts";
import { useGatehouseProcess } from "../support/use-gatehouse.ts";

const SUITES = [
  { name: "2025-11-25", folder: "@modelcontextprotocol/conformance", options: ["--suite", "all"] },
  { name: "2026-07-28", folder: "conformance-stateless", options: ["--requirements", "2026-07-28"] },
];

const modules = join(import.meta.dir, "node_modules");
const hasPackages = isInstalled(existsSync(join(modules, "conformance-stateless")) ? modules : null, {
  name: "The MCP conformance suite",
  tests: "the tests of MCP conformance",
  install: "npm ci --prefix test/mcp",
});

const gatehouse = await useGatehouseProcess();

/** Starts the server. Resolves to its URL. */
async function startFixture(): Promise<string> {
  const server = Bun.spawn([process.execPath, "fixture-server.mjs"], {
    cwd: import.meta.dir,
    stdout: "pipe",
    stderr: "inherit",
  });
  afterAll(() => server.kill());
  const reader = server.stdout.getReader();
  let text = "";
  while (!text.includes("\n")) text += new TextDecoder().decode((await reader.read()).value);
  return `http://127.0.0.1:${text.trim().replace("port ", "")}/mcp`;
}

/** Runs a suite. Resolves to the number of checks that passed and failed, by scenario. */
async function run(
  folder: string,
  options: readonly string[],
  url: string,
): Promise<Map<string, readonly [number, number]>> {
  const program = join(modules, folder, "dist/index.js");
  const child = Bun.spawn([process.execPath, program, "server", "--url", url, ...options], {
    cwd: import.meta.dir,
    stdout: "pipe",
    stderr: "pipe",
    timeout: 280_000,
    killSignal: "SIGKILL",
  });
  const output = await new Response(child.stdout).text();
  const lines = output.matchAll(/^[✓✗~!⚠]\s+([\w/-]+): (\d+) passed, (\d+) failed/gm);
  return new Map([...lines].map(([, name = "", passed, failed]) => [name, [Number(passed), Number(failed)]]));
}

for (const { name, folder, options } of SUITES)
  test.skipIf(!hasPackages)(
    `every check of ${name} that passes directly passes through the gateway`,
    async () => {
      const direct = await startFixture();
      const { url } = await seedMcp(
        gatehouse,
        { fixture: { url: direct, pin: "off" } },
        { gateway: { cors: { origins: [new URL(gatehouse.proxyUrl).origin, "http://localhost:3000"] } } },
      );
      const expected = await run(folder, options, direct);
      const actual = await run(folder, options, url);
      expect(expected.size).toBeGreaterThan(20);
      const table = [...expected].map(([scenario, counts]) => ({
        scenario,
        direct: counts,
        through: actual.get(scenario) ?? [0, 0],
      }));
      const passed = (way: "direct" | "through") => table.reduce((sum, row) => sum + row[way][0], 0);
      process.stderr.write(
        `${name}: of ${passed("direct")} checks that pass directly, ${passed("through")} pass through the gateway, in ${table.length} scenarios\n`,
      );
      const isWorse = ({ direct: before, through }: (typeof table)[number]) =>
        through[1] > before[1] || through[0] < before[0];
      expect(table.filter(isWorse)).toEqual([]);
    },
    600_000,
  );
