// `bun scripts/repeat-failed-tests.ts LOG`: runs the test files once more that have failed according to the output of `npm test` or of
// another test command. CI uses it, because a test that depends on the speed of a shared machine would reject a
// sound change. A test that fails by chance is reported: it is a defect to fix.
import { spawnSync } from "bun";

/** More files than these do not fail by chance. */
const MAX_FILES = 3;

const [path] = process.argv.slice(2);
if (path === undefined) {
  console.error(
    "repeat-failed-tests: name the output of npm test, such as: bun scripts/repeat-failed-tests.ts log",
  );
  process.exit(2);
}
const files = failedFiles((await Bun.file(path).text()).split("\n"));
if (files.length === 0 || files.length > MAX_FILES) process.exit(1);
console.error(`\nFAILED, and run once more: ${files.join(", ")}\n`);
/** What `npm test` leaves out needs nothing that it prepares. */
const isApart = files.some((file) => /^test\/(?:fault|browser|clients|mcp)\//.test(file));
const options = ["--timeout=600000", ...files.map((file) => `./${file}`)];
const command = isApart ? ["test", ...options] : [`${import.meta.dir}/test.ts`, ...options];
const { exitCode } = spawnSync([process.execPath, ...command], {
  stdio: ["inherit", "inherit", "inherit"],
});
if (exitCode === 0) console.error(`\nFAILS BY CHANCE, and must be fixed: ${files.join(", ")}\n`);
process.exit(exitCode);

/** Returns no file if the run did not end, or if a file could not be run at all. */
function failedFiles(lines: readonly string[]): string[] {
  const failed = new Set<string>();
  let file = "";
  for (const line of lines) {
    if (/^\S+\.tsx?:$/.test(line)) file = line.slice(0, -1);
    else if (line.startsWith("(fail) ")) failed.add(file);
    else if (/^ *\d+ errors?$/.test(line)) return [];
    // What follows repeats the failures without their files.
    if (/^\d+ tests failed:$/.test(line)) file = [...failed][0] ?? "";
  }
  const hasEnded = lines.some((line) => /^Ran \d+ tests? across \d+ files?\./.test(line));
  return hasEnded ? [...failed] : [];
}
