// `npm test`: checks format and types, and runs the tests at the same time. Arguments are passed to `bun test`; with `--only-tests`, nothing
// is checked. The linter needs a minute of CPU time and has its own command, `npm run lint`. So have tests that start many processes, the
// fault suite, the tests with other clients, and the long form of some tests: `npm run test:system`, `test:fault`, `test:clients`, `test:long`.
import { spawn, type Subprocess } from "bun";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { isBuiltFrom } from "../src/cli/executable-inputs.ts";
import { startPostgresForRun } from "../test/support/postgres.ts";

const ROOT = join(import.meta.dir, "..");
const children = new Set<Subprocess>();
process.on("exit", () => {
  for (const child of children) child.kill();
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(1));

/** Prints its output at once, when it has ended: not between lines of the tests. Resolves to the exit code. */
async function runCheck(args: readonly string[]): Promise<number> {
  const check = spawn([process.execPath, ...args], { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] });
  children.add(check);
  const [output, errors] = await Promise.all([check.stdout.text(), check.stderr.text()]);
  process.stderr.write(output + errors);
  return check.exited;
}

/** A failed check ends the run, because nothing else would be read. */
async function runChecks(): Promise<void> {
  for (const args of [["fmt", "--check"], ["check"], ["check", "-p", "console"]]) {
    const code = await runCheck(args);
    if (code !== 0) process.exit(code);
  }
}

/** Builds the executable that tests start instead of the launcher: it needs half of the CPU time. */
async function buildProgram(): Promise<Record<string, string>> {
  const program = join(ROOT, "dist/gatehouse");
  if (!existsSync(program) || !isBuiltFrom(ROOT, program)) {
    const build = spawn([process.execPath, join(import.meta.dir, "build.ts")], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    children.add(build);
    if ((await build.exited) !== 0) throw new Error("the executable could not be built");
  }
  return { GATEHOUSE_TEST_PROGRAM: program };
}

const given = process.argv.slice(2);
const args = given.filter((arg) => arg !== "--only-tests");
const checks = args.length < given.length ? null : runChecks();
const [program, postgres] = await Promise.all([buildProgram(), startPostgresForRun()]);

const ignored = ["system", "contract", "fault", "clients"]
  .map((name) => `test/${name}`)
  .filter((directory) => !args.some((arg) => arg.includes(directory)))
  .map((directory) => `--path-ignore-patterns=${directory}/**`);
// The files that a worker runs share the modules of the gateway, which takes a tenth less CPU time than loading them for each file.
const options = ["--parallel=3", "--no-isolate", "--timeout=60000", ...ignored, ...args];
/**
 * Few functions of a test run long enough for the last compiler of the engine to save more time than it takes. A worker collects
 * garbage less often, and keeps freed memory longer, than a gateway: these save a tenth of its CPU time.
 */
const runtime = {
  BUN_JSC_useFTLJIT: "0",
  BUN_JSC_largeHeapSize: String(128 * 1024 * 1024),
  BUN_JSC_heapGrowthMaxIncrease: "2",
  MIMALLOC_PURGE_DELAY: "10000",
};
const tests = spawn([process.execPath, "test", ...options], {
  stdio: ["inherit", "inherit", "inherit"],
  env: { ...process.env, ...runtime, ...program, ...postgres },
});
children.add(tests);
const code = await tests.exited;
await checks;
process.exit(code);
