// `npm test`: checks format and types, then runs the tests and the linter in parallel. Arguments are passed to `bun test`.
// The fault suite is a separate command: `npm run test:fault`.
import { spawn } from "bun";

const stdio = ["inherit", "inherit", "inherit"] as const;

for (const args of [["fmt", "--check"], ["check"], ["check", "-p", "console"]]) {
  const code = await spawn([process.execPath, ...args], { stdio: [...stdio] }).exited;
  if (code !== 0) process.exit(code);
}

// With a lower priority, so that the linter does not slow down the tests; it needs one core for half of their time.
const lint = spawn(["nice", "-n", "15", "eslint", "--max-warnings", "0", "."], {
  stdio: ["ignore", "pipe", "inherit"],
});
const lintOutput = new Response(lint.stdout).text();
const ignored = "--path-ignore-patterns=test/fault/**";
const options = ["--parallel=3", "--timeout=20000", ignored, ...process.argv.slice(2)];
const tests = spawn([process.execPath, "test", ...options], { stdio: [...stdio] });
const testsCode = await tests.exited;
const lintCode = await lint.exited;
console.log(lintCode === 0 ? "lint: no problems" : await lintOutput);
process.exit(testsCode === 0 ? lintCode : testsCode);
