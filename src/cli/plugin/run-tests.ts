// Runs the tests of custom plugins with the test runner of Bun. The single executable contains Bun; the SDK is written to a temporary
// folder, because the runner does not see what the executable contains.
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative, resolve } from "node:path";
import { buildSdk } from "../../../scripts/build-sdk.ts";

const TEST_FILES = "**/*.test.{ts,js}";

/**
 * Returns the test files of a folder, of a plugin (its file, its folder, or its name in `directory`), or the test file itself. Throws if
 * there are none.
 */
export function testFilesOf(given: string | undefined, directory: string): string[] {
  const path = given === undefined ? directory : pathOf(given, directory);
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) {
    const what = given === undefined ? `the folder ${directory}` : `a file, folder or plugin "${given}"`;
    throw new Error(
      `there is no ${what.replace(/^(?:the|a) /, "")}; create a plugin with gatehouse plugin new NAME`,
    );
  }
  const files = stat.isDirectory()
    ? [...new Bun.Glob(TEST_FILES).scanSync({ cwd: path, onlyFiles: true })]
        .filter((file) => !file.split("/").includes("node_modules"))
        .map((file) => join(path, file))
        .sort()
    : [testFileOf(path)].filter((file) => statSync(file, { throwIfNoEntry: false }) !== undefined);
  if (files.length === 0)
    throw new Error(`${path} has no tests; the test of a plugin NAME.ts is NAME.test.ts next to it`);
  return files;
}

function pathOf(given: string, directory: string): string {
  const candidates = [
    given,
    join(directory, `${given}.ts`),
    join(directory, `${given}.js`),
    join(directory, given),
  ];
  return candidates.find((path) => statSync(path, { throwIfNoEntry: false }) !== undefined) ?? given;
}

function testFileOf(file: string): string {
  return /\.test\.[jt]s$/.test(file) ? file : file.replace(/\.([jt]s)$/, ".test.$1");
}

/** Resolves to whether all tests passed. The runner prints to the terminal of this process. */
export async function runTests(files: readonly string[], directory: string): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), "gatehouse-sdk-"));
  try {
    writeFiles(folder, (await buildSdk()).runtime);
    const cwd = resolve(directory);
    const args = files.map((file) => `./${relative(cwd, resolve(file))}`);
    const runner = Bun.spawn(
      [process.execPath, "test", "--preload", join(folder, "preload.js"), ...args],
      // The executable is Bun itself with this variable. Without it, the executable would run this program.
      { cwd, env: { ...process.env, BUN_BE_BUN: "1" }, stdio: ["inherit", "inherit", "inherit"] },
    );
    return (await runner.exited) === 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export function writeFiles(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, dirname(name)), { recursive: true });
    writeFileSync(join(folder, dirname(name), basename(name)), text);
  }
}
