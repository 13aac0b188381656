// The text files of this repository, as a coding agent reads them.
import { Glob } from "bun";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "../..");
const FOLDERS = ["bench", "console", "deploy", "docs", "plugins", "scripts", "src", "test"];

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Returns all text files by their path. */
export function repositoryTexts(): Map<string, string> {
  const paths = [
    ...new Glob("*.{md,json,js,toml}").scanSync({ cwd: ROOT }),
    ...FOLDERS.flatMap((folder) => [...new Glob(`${folder}/**/*`).scanSync({ cwd: ROOT, dot: true })]),
    "bin/gatehouse",
  ]
    .filter((path) => !path.includes("node_modules/"))
    .sort();
  const texts = new Map<string, string>();
  for (const path of paths) {
    try {
      texts.set(path, decoder.decode(readFileSync(join(ROOT, path))));
    } catch (error) {
      // An image.
      if (!(error instanceof TypeError)) throw error;
    }
  }
  return texts;
}
