// The texts that `npm run accuracy:tokens` measures: files of this repository, the samples in test/golden/tokens, and generated data.
import { Glob } from "bun";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");
export const SAMPLES = join(ROOT, "test/golden/tokens");
/** Enough for several chunks of the largest size. */
const TEXT_LENGTH = 100_000;

export interface Source {
  /** Estimates are bounded for each class. */
  readonly kind: string;
  readonly name: string;
  readonly text: string;
}

export function readSources(): readonly Source[] {
  const random = seededRandom(1);
  return [
    ...repositorySources(),
    ...readSamples().map(({ kind, name, text }) => ({ kind, name, text: shuffled(kind, text, random) })),
    { kind: "base64", name: "random", text: randomBytes(random).toString("base64") },
    { kind: "base64", name: "random, URL-safe", text: randomBytes(random).toString("base64url") },
    {
      kind: "base64",
      name: "lines of 76",
      text: randomBytes(random).toString("base64").replace(/.{76}/g, "$&\n"),
    },
    { kind: "hex", name: "random", text: randomBytes(random).toString("hex") },
  ];
}

/** The samples: the class is the part of the file's name before the first hyphen. */
export function readSamples(): readonly Source[] {
  return readdirSync(SAMPLES)
    .filter((file) => file.endsWith(".txt"))
    .sort()
    .map((file) => ({
      kind: file.slice(0, file.indexOf("-")),
      name: file.slice(0, -".txt".length),
      text: readFileSync(join(SAMPLES, file), "utf8"),
    }));
}

function repositorySources(): readonly Source[] {
  const lock = readFileSync(join(ROOT, "package-lock.json"), "utf8");
  return [
    { kind: "prose", name: "documentation", text: withoutPadding(readFiles("*.md", "docs/**/*.md")) },
    { kind: "code", name: "TypeScript", text: readFiles("src/**/*.ts") },
    { kind: "code", name: "TSX and CSS", text: readFiles("console/**/*.tsx", "console/**/*.css") },
    { kind: "code", name: "shell and YAML", text: readFiles("scripts/*.sh", "deploy/**/*.yaml") },
    { kind: "json", name: "lock file", text: lock },
    { kind: "json", name: "lock file, compact", text: JSON.stringify(JSON.parse(lock)) },
    { kind: "json", name: "requests and responses", text: readFiles("test/golden/**/*.json") },
    { kind: "json", name: "dashboard", text: readFiles("deploy/grafana/*.json") },
  ];
}

/** The padding of tables is no prose: hundreds of spaces are one or two tokens. */
function withoutPadding(text: string): string {
  return text.replaceAll(/ {4,}/g, "   ").replaceAll(/-{4,}/g, "---");
}

function readFiles(...patterns: readonly string[]): string {
  const files = patterns
    .flatMap((pattern) => [...new Glob(pattern).scanSync(ROOT)])
    .filter((file) => !file.includes("node_modules"))
    .sort();
  if (files.length === 0) throw new Error(`no file matches ${patterns.join(" or ")}`);
  return files.map((file) => readFileSync(join(ROOT, file), "utf8")).join("");
}

/** A long text from the lines of a sample. Code and JSON keep the order of their lines. */
function shuffled(kind: string, sample: string, random: () => number): string {
  if (kind === "code" || kind === "json" || kind === "base64")
    return sample.repeat(Math.ceil(TEXT_LENGTH / sample.length));
  const sentences = sample.trim().split("\n");
  let text = "";
  while (text.length < TEXT_LENGTH)
    text += `${sentences[Math.floor(random() * sentences.length)]}${random() < 0.2 ? "\n\n" : " "}`;
  return text;
}

function randomBytes(random: () => number): Buffer {
  return Buffer.from(Uint8Array.from({ length: TEXT_LENGTH / 2 }, () => Math.floor(random() * 256)));
}

/** The same numbers in every run. */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
