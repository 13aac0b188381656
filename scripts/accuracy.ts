// `npm run accuracy -- [DIR] [--verbose] [--short]`: measures code_sanitation on corpora of attacks and of harmless text (JSON lines), without DIR on
// those of this repository. Prints the share of attacks that are found and of harmless texts that are flagged; exits with 1 if a bound is
// exceeded. --verbose lists the texts that were missed; --short measures fewer texts in every encoding.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { compileDetector } from "../src/plugins/code_sanitation/detector.ts";
import { LANGUAGES } from "../src/plugins/code_sanitation/settings.ts";
import { ENCODINGS } from "../test/support/encodings.ts";
import { readCorpora, type Sample } from "./accuracy/corpora.ts";
import { SPECIFIED } from "./accuracy/specified-examples.ts";
import { measuredAttacks, measuredHarmless, type Measured } from "./accuracy/thresholds.ts";

const OWN_CORPUS = join(import.meta.dirname, "../src/plugins/code_sanitation/corpus");
/** The share of texts whose verdict must be the same if they are encoded: a text with escapes of its own may be encoded too deeply. */
const MIN_SAME_VERDICT = 0.99;
/** In --short mode, this many texts are checked in every encoding. */
const SHORT_SAMPLES = 500;
const PROSE = "The weather was fine and the road was long, so we walked until the evening came. ";
const PADDING = PROSE.repeat(Math.ceil((128 * 1024) / PROSE.length));
const MAX_SHOWN = 160;

const { values, positionals } = parseArgs({
  options: { verbose: { type: "boolean", default: false }, short: { type: "boolean", default: false } },
  allowPositionals: true,
});
const directory = positionals[0] ?? OWN_CORPUS;
if (!existsSync(directory)) fail(`${directory} does not exist`, 2);
const corpora = readCorpora(directory);
if (corpora.length === 0)
  fail(`${directory} has no file named attacks-*, *-attacks, benign-* or *-harmless.jsonl`, 2);

const detector = compileDetector(LANGUAGES);
const isFlagged = (text: string): boolean => detector.first(text) !== null;
const exceeded: string[] = [];

console.log("Attacks: found");
const specified = Object.entries(SPECIFIED).flatMap(([family, texts]) =>
  texts.map((text) => ({ text, family })),
);
for (const measured of [
  { name: "specification", samples: specified, minimum: 1 },
  ...measuredAttacks(corpora),
])
  reportAttacks(measured);
console.log("\nHarmless texts: flagged");
for (const measured of measuredHarmless(corpora)) reportHarmless(measured);
console.log("\nSame verdict if encoded or padded");
reportEqualVerdicts(corpora.flatMap(({ samples }) => samples));
if (exceeded.length > 0) fail(exceeded.join("; "), 1);

function fail(message: string, status: number): never {
  console.error(`\naccuracy: ${message}`);
  process.exit(status);
}

function reportAttacks({ name, samples, minimum }: Measured): void {
  const missed = samples.filter(({ text }) => !isFlagged(text));
  print(name, samples.length - missed.length, samples.length, minimum, undefined);
  // `all sql` repeats the samples of the files.
  if (!values.verbose || name.startsWith("all ")) return;
  for (const { family, text } of missed) console.log(`    missed ${family}: ${shown(text)}`);
}

function reportHarmless({ name, samples, maximum }: Measured): void {
  const flagged = samples.flatMap(({ text }) => {
    const finding = detector.first(text);
    return finding === null ? [] : [{ text, finding }];
  });
  print(name, flagged.length, samples.length, undefined, maximum);
  if (name.includes(" ")) return;
  for (const { text, finding } of flagged)
    console.log(
      `    ${finding.pattern}: ${shown(text.slice(Math.max(0, finding.start - 40), finding.end + 40))}`,
    );
}

function reportEqualVerdicts(samples: readonly Sample[]): void {
  const stride = values.short ? Math.max(1, Math.floor(samples.length / SHORT_SAMPLES)) : 1;
  const checked = samples.filter((_, index) => index % stride === 0);
  for (const [name, encode] of Object.entries(ENCODINGS)) reportEqualVerdict(name, checked, encode);
  // Each takes 128 kB.
  const padded = checked.filter((_, index) => index % 11 === 0);
  reportEqualVerdict(
    "after 128 kB of prose",
    padded,
    (text) => PADDING + text,
    (text) => PROSE + text,
  );
}

/** Compares the verdicts of two forms of each text. */
function reportEqualVerdict(
  name: string,
  samples: readonly Sample[],
  encode: (text: string) => string,
  plain = (text: string) => text,
): void {
  const different = samples.filter(({ text }) => isFlagged(encode(text)) !== isFlagged(plain(text)));
  print(name, samples.length - different.length, samples.length, MIN_SAME_VERDICT, undefined);
  if (!values.verbose) return;
  for (const { text } of different.slice(0, 40))
    console.log(`    ${isFlagged(plain(text)) ? "lost" : "new"}: ${shown(text)}`);
}

/** Prints a share, and remembers it if it exceeds its bound. */
function print(
  name: string,
  count: number,
  total: number,
  minimum: number | undefined,
  maximum: number | undefined,
): void {
  const share = total === 0 ? 0 : count / total;
  const bound =
    minimum !== undefined
      ? `at least ${percent(minimum)}`
      : maximum !== undefined
        ? `at most ${percent(maximum)}`
        : "";
  const columns = [name.padEnd(30), `${count} of ${total}`.padStart(14), percent(share).padStart(8), bound];
  console.log(`  ${columns.join("  ")}`.trimEnd());
  if (share < (minimum ?? 0) || share > (maximum ?? 1)) exceeded.push(`${name} ${percent(share)}, ${bound}`);
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, MAX_SHOWN));
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
