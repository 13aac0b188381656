// The text of this repository's own files: ordinary code and documentation to measure with.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");

/** Returns all files of a directory with this extension, joined. */
export function sourcesOf(directory: string, extension = "ts"): string {
  return readdirSync(join(ROOT, directory), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(`.${extension}`) && !name.includes("node_modules"))
    .sort()
    .map((name) => readFileSync(join(ROOT, directory, name), "utf8"))
    .join("\n");
}
