// `npm run fuzz:sanitation -- --minutes 10`: searches for texts that take code_sanitation more work per byte than the known ones, by
// mutating short sequences of the plugin's own keywords and of punctuation. Fails if a text takes more time per byte than allowed, also if
// its inspection is stopped by the budget, or if the sources of this repository take more than two thirds of the budget.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { LARGE_BODY_BYTES } from "../src/off-loop/large-body.ts";
import { parseArgs } from "node:util";
import { compileDetector } from "../src/plugins/code_sanitation/detector.ts";
import { inspectBody } from "../src/plugins/code_sanitation/inspect-body.ts";
import { patternsOf } from "../src/plugins/code_sanitation/languages/by-language.ts";
import { LANGUAGES } from "../src/plugins/code_sanitation/settings.ts";
import { stepsFor, WorkExhausted } from "../src/plugins/code_sanitation/work-budget.ts";
import { sourcesOf } from "../test/support/sources.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    seed: { type: "string", default: "1" },
    /** A directory with harmless texts: benign-*.jsonl, *-harmless.jsonl. */
    corpus: { type: "string" },
  },
});

/** Of any text, inspected completely or until its budget is exhausted. */
const MAX_NS_PER_BYTE = 30;
/** Of the budget, for ordinary code. */
const MAX_ORDINARY_SHARE = 0.65;
/** Long enough that the start of the text does not matter. */
const SEARCH_UNITS = 3000;
const MAX_PIECES = 6;
/** Mutations without an improvement after which the search starts with another text. */
const PATIENCE = 150;
const SHOWN = 10;

const MODES = { block: null, sanitize: "X" } as const;
type Mode = keyof typeof MODES;
/** What is maximized. Steps are exact and fast; time finds texts whose steps take longer than others. */
type Goal = "steps" | "time";

const PROSE = "The weather was fine and the road was long, so we walked until the evening came. ";
const PUNCTUATION = Array.from(" \n\t'\"`<>()[]{}|&;:,.=+-*/%$#@!?^~\\_0x1aZ");
const OPERATORS = ["''", "||", "&&", "--", "/*", "*/", "<!--", "${", "$("];
const ENCODED = [
  "%27",
  "%2527",
  "%20",
  "&#x27;",
  "&lt;",
  "&amp;",
  "\\u0027",
  "\\x27",
  "\u200b",
  "\uff07",
  "\u{1f600}",
];
const KEYWORDS = LANGUAGES.flatMap((language) => patternsOf(language).flatMap(({ triggers }) => triggers));
/** Each list is chosen as often as the others: there are many keywords, but most work is caused by what follows them. */
const ALPHABETS = [PUNCTUATION, [...OPERATORS, ...ENCODED], [...new Set([...KEYWORDS, "or", "and", "not"])]];

const work = { steps: 0, limit: Infinity };
const detector = compileDetector(LANGUAGES, work);

/** A pseudo-random number generator (mulberry32), so that a run can be repeated. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}
const random = randomNumbers(Number(values.seed));

function repeatTo(pieces: readonly string[], length: number): string {
  const piece = pieces.join("");
  return piece.repeat(Math.ceil(length / piece.length)).slice(0, length);
}

interface Cost {
  readonly steps: number;
  /** CPU time. */
  readonly ms: number;
  readonly isStopped: boolean;
}

const CONTENT_TYPES = ["text/plain", "application/json", "application/x-www-form-urlencoded"] as const;
type ContentType = (typeof CONTENT_TYPES)[number];

/** Inspects a body as the plugin does. */
function inspect(text: string, mode: Mode, limit: number, contentType: ContentType = "text/plain"): Cost {
  const headers = new Headers({ "content-type": contentType });
  const body = { bodyText: text, body: null, isJson: contentType === "application/json", headers };
  const before = process.cpuUsage();
  let isStopped = false;
  try {
    detector.limitWork(limit, () => inspectBody(body, detector, MODES[mode]));
  } catch (error) {
    if (!(error instanceof WorkExhausted)) throw error;
    isStopped = true;
  }
  const { user, system } = process.cpuUsage(before);
  return { steps: work.steps, ms: (user + system) / 1000, isStopped };
}

/** The cheapest of several measurements: the others were disturbed. */
function cheapest(text: string, mode: Mode, rounds: number, contentType?: ContentType): Cost {
  const limit = stepsFor(Buffer.byteLength(text));
  let best = inspect(text, mode, limit, contentType);
  for (let round = 1; round < rounds; round++) {
    const cost = inspect(text, mode, limit, contentType);
    if (cost.ms < best.ms) best = cost;
  }
  return best;
}

const nsPerByte = (ms: number, text: string): number => (ms / Buffer.byteLength(text)) * 1e6;

const PROSE_TEXT = repeatTo([PROSE], LARGE_BODY_BYTES);
/** The cost of prose, measured next to each text of the report: it shows how fast the machine is at that time. */
const proseCosts: number[] = [];

/** The cost of a text in ns per byte, and of prose at the same time. */
function measureWithProse(
  text: string,
  mode: Mode,
  contentType: ContentType,
): { readonly cost: Cost; readonly ns: number; readonly proseNs: number } {
  const cost = cheapest(text, mode, 5, contentType);
  const proseNs = nsPerByte(cheapest(PROSE_TEXT, "block", 3).ms, PROSE_TEXT);
  proseCosts.push(proseNs);
  return { cost, ns: nsPerByte(cost.ms, text), proseNs };
}

function scoreOf(pieces: readonly string[], mode: Mode, goal: Goal): number {
  if (goal === "steps") return inspect(repeatTo(pieces, SEARCH_UNITS), mode, Infinity).steps / SEARCH_UNITS;
  const text = repeatTo(pieces, LARGE_BODY_BYTES);
  return nsPerByte(cheapest(text, mode, 3).ms, text);
}

function anyPiece(): string {
  const alphabet = ALPHABETS[random(ALPHABETS.length)] ?? PUNCTUATION;
  return alphabet[random(alphabet.length)] ?? " ";
}

function mutated(pieces: readonly string[]): string[] {
  const next = [...pieces];
  const at = random(next.length);
  const kind = random(4);
  if (kind === 0 && next.length < MAX_PIECES) next.splice(at, 0, anyPiece());
  else if (kind === 1 && next.length > 1) next.splice(at, 1);
  else if (kind === 2) next.push(...next.splice(at, 1));
  else next[at] = anyPiece();
  return next;
}

interface Found {
  readonly mode: Mode;
  readonly goal: Goal;
  readonly pieces: readonly string[];
  readonly score: number;
}

/** Improves a random text until nothing improves it any more. */
function climb(mode: Mode, goal: Goal, until: number): Found {
  let pieces = [anyPiece(), anyPiece()];
  let score = scoreOf(pieces, mode, goal);
  for (let failures = 0; failures < PATIENCE && performance.now() < until; failures++) {
    const next = mutated(pieces);
    const nextScore = scoreOf(next, mode, goal);
    if (nextScore <= score) continue;
    [pieces, score, failures] = [next, nextScore, -1];
  }
  return { mode, goal, pieces, score };
}

/** Prints the worst texts of a mode. Returns the most nanoseconds per byte, with the budget. */
function report(mode: Mode, found: readonly Found[]): number {
  let worst = 0;
  const rows = (["steps", "time"] as const).flatMap((goal) =>
    found
      .filter((each) => each.mode === mode && each.goal === goal)
      .sort((one, other) => other.score - one.score)
      .slice(0, SHOWN),
  );
  console.log(
    `\n${mode}: ns per byte with the budget, and in multiples of prose at the same time; ns and steps per byte without`,
  );
  for (const { pieces, goal } of rows) {
    const part = repeatTo(pieces, LARGE_BODY_BYTES / 8);
    const whole = inspect(part, mode, Infinity);
    for (const contentType of CONTENT_TYPES) {
      const text = repeatTo(pieces, LARGE_BODY_BYTES);
      const { cost, ns, proseNs } = measureWithProse(text, mode, contentType);
      worst = Math.max(worst, ns);
      if (contentType !== "text/plain" && ns < MAX_NS_PER_BYTE) continue;
      console.log(
        `${ns.toFixed(1).padStart(6)} ns ${(ns / proseNs).toFixed(1).padStart(5)} × ${cost.isStopped ? "stopped  " : "completed"}` +
          `  ${nsPerByte(whole.ms, part).toFixed(0).padStart(6)} ns ${(whole.steps / part.length).toFixed(1).padStart(6)} steps` +
          `  (${goal}, ${contentType}) ${JSON.stringify(pieces.join(""))}`,
      );
    }
  }
  return worst;
}

/** Prints the share of the budget that ordinary texts take. Returns the largest share. */
function reportOrdinary(): number {
  const texts = {
    prose: repeatTo([PROSE], 1_000_000),
    "src of this repository": sourcesOf("src"),
    "console of this repository": sourcesOf("console"),
    "docs of this repository": sourcesOf("docs", "md"),
    ...(values.corpus === undefined ? {} : harmlessTexts(values.corpus)),
  };
  let largest = 0;
  console.log("\nordinary texts: share of the budget, ns and steps per byte");
  for (const [name, text] of Object.entries(texts)) {
    const cost = cheapest(text, "sanitize", 3);
    const share = cost.steps / stepsFor(text.length);
    if (name.endsWith("repository")) largest = Math.max(largest, share);
    console.log(
      `${`${(share * 100).toFixed(0)} %`.padStart(6)} ${nsPerByte(cost.ms, text).toFixed(1).padStart(6)} ns` +
        ` ${(cost.steps / text.length).toFixed(2).padStart(6)} steps  ${name}, ${text.length} bytes`,
    );
  }
  return largest;
}

/** The harmless texts of a corpus, each file repeated to 1 MB. */
function harmlessTexts(directory: string): Record<string, string> {
  const files = readdirSync(directory).filter((name) => /(^benign|-harmless).*\.jsonl$/.test(name));
  return Object.fromEntries(
    files.map((file) => {
      const lines = readFileSync(join(directory, file), "utf8")
        .split("\n")
        .filter((line) => line !== "");
      const texts = lines.map((line) => String((JSON.parse(line) as { text: unknown }).text));
      return [file, repeatTo([texts.join("\n\n")], 1_000_000)];
    }),
  );
}

const until = performance.now() + Number(values.minutes) * 60_000;
// Compiled code is several times faster than code that runs for the first time.
for (let round = 0; round < 20; round++)
  inspect(repeatTo(["' or ", "eval(x)", "' ||"], 30_000), "sanitize", Infinity);
const found: Found[] = [];
const goals = (["steps", "time"] as const).flatMap((goal) =>
  (["block", "sanitize"] as const).map((mode) => ({ goal, mode })),
);
for (let turn = 0; performance.now() < until; turn++) {
  const { mode, goal } = goals[turn % goals.length] ?? { mode: "block", goal: "steps" };
  found.push(climb(mode, goal, until));
}
const share = reportOrdinary();
const worst = Math.max(report("block", found), report("sanitize", found));
console.log(
  `\n${found.length} searches; worst text: ${worst.toFixed(1)} ns per byte, at most ${MAX_NS_PER_BYTE};` +
    ` sources of this repository: ${(share * 100).toFixed(0)} % of the budget, at most ${MAX_ORDINARY_SHARE * 100} %`,
);
console.log(
  `prose meanwhile: ${Math.min(...proseCosts).toFixed(1)} to ${Math.max(...proseCosts).toFixed(1)} ns per byte`,
);
if (worst > MAX_NS_PER_BYTE || share > MAX_ORDINARY_SHARE) process.exit(1);
