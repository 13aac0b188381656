// `npm test`: checks format and types, then runs the tests. Arguments are passed to `bun test`. The linter needs a minute of CPU time
// and has its own command, `npm run lint`. The fault suite, the tests with other clients, and the long form of some tests are separate commands: `npm run test:fault`,
// `npm run test:clients`, `npm run test:long`.
import { spawn } from "bun";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startPostgresForRun } from "../test/support/postgres.ts";

const stdio = ["inherit", "inherit", "inherit"] as const;
const folder = mkdtempSync(join(tmpdir(), "gatehouse-npm-test-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(1));

/** Builds the executable that tests start instead of the launcher: it needs half of the CPU time. */
async function buildProgram(): Promise<Record<string, string>> {
  const program = join(folder, "gatehouse");
  const build = spawn([process.execPath, join(import.meta.dir, "build.ts"), "--outfile", program], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  process.on("exit", () => build.kill());
  if ((await build.exited) !== 0) throw new Error("the executable could not be built");
  return { GATEHOUSE_TEST_PROGRAM: program };
}

const preparation = Promise.all([buildProgram(), startPostgresForRun()]);

for (const args of [["fmt", "--check"], ["check"], ["check", "-p", "console"]]) {
  const code = await spawn([process.execPath, ...args], { stdio: [...stdio] }).exited;
  if (code !== 0) process.exit(code);
}
const [program, postgres] = await preparation;

const ignored = ["fault", "clients"].map((name) => `--path-ignore-patterns=test/${name}/**`);
const options = ["--parallel=4", "--timeout=60000", ...ignored, ...process.argv.slice(2)];
const tests = spawn([process.execPath, "test", ...options], {
  stdio: [...stdio],
  env: { ...process.env, ...program, ...postgres },
});
process.exit(await tests.exited);
