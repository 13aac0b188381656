// Reads corpora: directories of files with one JSON object per line, `{"text": "…", "family": "sql"}`.
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

export interface Sample {
  readonly text: string;
  /** The language of an attack. */
  readonly family: string;
}

export interface Corpus {
  /** The name of the file without its extension. */
  readonly name: string;
  readonly isHarmless: boolean;
  readonly samples: readonly Sample[];
}

/** `attacks-crs.jsonl` or `sql-attacks.jsonl`. */
const ATTACKS = /^attacks-|-attacks$/;
/** `benign-bench.jsonl` or `sql-harmless.jsonl`. */
const HARMLESS = /^benign-|-harmless$/;

/** Returns the corpora of a directory by name. Other files are ignored. */
export function readCorpora(directory: string): Corpus[] {
  return readdirSync(directory)
    .filter((file) => file.endsWith(".jsonl"))
    .map((file) => basename(file, ".jsonl"))
    .filter((name) => ATTACKS.test(name) || HARMLESS.test(name))
    .sort()
    .map((name) => ({
      name,
      isHarmless: HARMLESS.test(name),
      samples: readSamples(join(directory, `${name}.jsonl`), name.replace(ATTACKS, "").replace(HARMLESS, "")),
    }));
}

function readSamples(file: string, family: string): Sample[] {
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => ({ family, ...(JSON.parse(line) as { text: string; family?: string }) }));
}
