// `npm test`: format and types first, then the tests with lint beside them, which needs one core for half as long as they do.
// Words are handed on to `bun test`. The fault suite is a command of its own: `npm run test:fault`.
import { spawn } from "bun";

const stdio = ["inherit", "inherit", "inherit"] as const;

for (const words of [["fmt", "--check"], ["check"], ["check", "-p", "console"]]) {
  const code = await spawn([process.execPath, ...words], { stdio: [...stdio] }).exited;
  if (code !== 0) process.exit(code);
}

// Behind the tests, so that it does not slow down what they wait for.
const lint = spawn(["nice", "-n", "15", "eslint", "--max-warnings", "0", "."], {
  stdio: ["ignore", "pipe", "inherit"],
});
const lintOutput = new Response(lint.stdout).text();
const ignored = "--path-ignore-patterns=test/fault/**";
const options = ["--parallel=3", "--timeout=20000", ignored, ...process.argv.slice(2)];
const tests = spawn([process.execPath, "test", ...options], { stdio: [...stdio] });
const testsCode = await tests.exited;
const lintCode = await lint.exited;
console.log(lintCode === 0 ? "lint: no faults" : await lintOutput);
process.exit(testsCode === 0 ? lintCode : testsCode);
