// Reads a Dockerfile and a .dockerignore, as far as ours go.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const ROOT = join(import.meta.dir, "../..");

export interface Instruction {
  readonly name: string;
  readonly rest: string;
  /** Which FROM it follows, counted from 1. */
  readonly stage: number;
}

export interface Copied {
  readonly sources: readonly string[];
  readonly to: string;
}

export function readDockerfile(text: string): Instruction[] {
  const joined = text.replace(/^\s*#.*\n/gm, "").replace(/\\\n\s*/g, "");
  let stage = 0;
  return joined.split("\n").flatMap((line) => {
    const [, name = "", rest = ""] = /^([A-Z]+)\s+(.*)$/.exec(line.trim()) ?? [];
    if (line.trim() === "") return [];
    if (name === "") throw new Error(`no instruction: ${line}`);
    if (name === "FROM") stage++;
    return [{ name, rest, stage }];
  });
}

/** What the instructions copy from the context, not from another stage. */
export function copiedFromContext(instructions: readonly Instruction[]): Copied[] {
  return instructions
    .filter(({ name, rest }) => name === "COPY" && !rest.includes("--from="))
    .map(({ rest }) => rest.split(/\s+/).filter((word) => !word.startsWith("--")))
    .map((words) => ({ sources: words.slice(0, -1), to: words.at(-1) ?? "" }));
}

/** Docker's rules: patterns from the root of the context, the last one that matches decides, a folder decides for what is in it. */
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

/** An image of one version, which the same words bring again next year. */
export function hasExactTag(image: string): boolean {
  return /^[a-z0-9./-]+:\d+\.\d+(\.\d+)?(-[a-z0-9.]+)*$/.test(image);
}
