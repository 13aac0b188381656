// The generated types and error messages of the console match the API.
import { expect, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { consoleTypes } from "../../scripts/generate-console-types.ts";
import { temporaryDirectory } from "../support/gatehouse-process.ts";

const ROOT = join(import.meta.dir, "../..");

/** Returns the text after formatting with the settings of this repository. */
function formatted(text: string): string {
  const directory = temporaryDirectory();
  const file = join(directory, "generated.ts");
  writeFileSync(file, text);
  writeFileSync(join(directory, "bunfig.toml"), readFileSync(join(ROOT, "bunfig.toml")));
  Bun.spawnSync([process.execPath, "fmt", file], { cwd: directory });
  const result = readFileSync(file, "utf8");
  rmSync(directory, { recursive: true });
  return result;
}

for (const [file, expected] of await consoleTypes()) {
  test(`${file} is up to date (npm run docs writes it)`, () => {
    expect(readFileSync(join(ROOT, file), "utf8")).toBe(formatted(expected));
  });
}
