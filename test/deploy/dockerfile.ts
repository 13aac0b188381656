// Reads the parts of the Dockerfile and .dockerignore syntax that this repository uses.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const ROOT = join(import.meta.dir, "../..");

interface Instruction {
  readonly name: string;
  readonly rest: string;
  /** Number of the FROM that it follows, from 1. */
  readonly stage: number;
}

interface CopyInstruction {
  readonly sources: readonly string[];
  readonly to: string;
}

export function readDockerfile(text: string): Instruction[] {
  const joined = text.replace(/^\s*#.*\n/gm, "").replace(/\\\n\s*/g, "");
  let stage = 0;
  return joined.split("\n").flatMap((line) => {
    const [, name = "", rest = ""] = /^([A-Z]+)\s+(.*)$/.exec(line.trim()) ?? [];
    if (line.trim() === "") return [];
    if (name === "") throw new Error(`not an instruction: ${line}`);
    if (name === "FROM") stage++;
    return [{ name, rest, stage }];
  });
}

/** Returns the instructions that copy from the build context, not from another stage. */
export function copiedFromContext(instructions: readonly Instruction[]): CopyInstruction[] {
  return instructions
    .filter(({ name, rest }) => name === "COPY" && !rest.includes("--from="))
    .map(({ rest }) => rest.split(/\s+/).filter((part) => !part.startsWith("--")))
    .map((paths) => ({ sources: paths.slice(0, -1), to: paths.at(-1) ?? "" }));
}

/** Docker's rules: patterns start at the root of the context, the last match decides, a match of a folder includes its files. */
export function ignoreRules(text: string): (path: string) => boolean {
  const rules = text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => ({ keeps: line.startsWith("!"), glob: new Bun.Glob(line.replace(/^!/, "")) }));
  return (path) => {
    const parts = path.split("/");
    const ancestors = parts.map((_, index) => parts.slice(0, index + 1).join("/"));
    const last = rules.findLast(({ glob }) => ancestors.some((each) => glob.match(each)));
    return last !== undefined && !last.keeps;
  };
}

export const isIgnored = ignoreRules(readFileSync(join(ROOT, ".dockerignore"), "utf8"));
export const existsInContext = (path: string) => existsSync(join(ROOT, path)) && !isIgnored(path);

/** Returns true if the image has a tag with a full version, which does not move to a newer image. */
export function hasExactTag(image: string): boolean {
  return /^[a-z0-9./-]+:\d+\.\d+(\.\d+)?(-[a-z0-9.]+)*$/.test(image);
}
