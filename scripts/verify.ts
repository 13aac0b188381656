// `npm run verify [PART …]`: everything that is too long for continuous integration, or all of it. Each part runs a command and prints what it
// has seen: its last lines, its exit code and its duration. Without arguments, all parts run one after the other.
import { spawn } from "bun";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "..");
const SHOWN_LINES = 6;

/** The commands by the names of the parts. */
const PARTS: Readonly<Record<string, { readonly command: readonly string[]; readonly checks: string }>> = {
  lint: {
    command: ["npm", "run", "lint"],
    checks: "formatter, types and linter, tests and benchmarks included",
  },
  test: { command: ["npm", "test"], checks: "the default tests" },
  system: {
    command: ["npm", "run", "test:system"],
    checks: "several nodes, PostgreSQL, Redis, command line",
  },
  fault: {
    command: ["npm", "run", "test:fault"],
    checks: "hostile peers, crashes, lost nodes, disk and network",
  },
  long: { command: ["npm", "run", "test:long"], checks: "long form of property tests and fuzz tests" },
  exact: {
    command: ["npm", "run", "test:exact"],
    checks: "budgets and ledgers with the requests of the contract",
  },
  clients: { command: ["npm", "run", "test:clients"], checks: "SDKs and coding agents" },
  mcp: { command: ["npm", "run", "test:mcp"], checks: "conformance suites of MCP" },
  browser: { command: ["npm", "run", "test:browser"], checks: "the console in Chromium" },
  looks: { command: ["npm", "run", "test:looks"], checks: "every page of the console, light and dark" },
  build: { command: ["npm", "run", "test:build"], checks: "the single executable" },
  soak: { command: ["npm", "run", "test:soak"], checks: "memory and connections under load" },
  accuracy: { command: ["npm", "run", "accuracy"], checks: "what code_sanitation finds in its own corpus" },
  overload: {
    command: ["npm", "run", "bench", "overload"],
    checks: "health checks beside overload, reported",
  },
};

const named = process.argv.slice(2);
const unknown = named.filter((name) => PARTS[name] === undefined);
if (unknown.length > 0) {
  console.error(
    `verify: no part is named ${unknown.join(", ")}; the parts are ${Object.keys(PARTS).join(", ")}`,
  );
  process.exit(2);
}
const failed: string[] = [];
for (const name of named.length > 0 ? named : Object.keys(PARTS)) {
  const part = PARTS[name];
  if (part === undefined) continue;
  console.log(`\n== ${name}: ${part.checks} (${part.command.join(" ")})`);
  const startedAt = performance.now();
  const child = spawn([...part.command], { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] });
  const [output, errors] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  const code = await child.exited;
  const lines = `${output}\n${errors}`.split("\n").filter((line) => line.trim() !== "");
  const failures = lines.filter((line) => line.startsWith("(fail)"));
  for (const line of [...failures, ...lines.slice(-SHOWN_LINES)]) console.log(`   ${line}`);
  console.log(`== ${name}: exit ${code}, ${Math.round((performance.now() - startedAt) / 1000)} s`);
  if (code !== 0) failed.push(name);
}
console.log(failed.length === 0 ? "\nverify: all parts passed" : `\nverify: FAILED: ${failed.join(", ")}`);
process.exit(failed.length === 0 ? 0 : 1);
