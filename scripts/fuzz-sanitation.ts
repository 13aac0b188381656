// `npm run fuzz:sanitation -- --minutes 10`: searches for texts that take code_sanitation more work per byte than the known ones, by
// mutating short sequences of the plugin's own keywords and of punctuation. Fails if an inspection on the event loop takes too long.
import { LARGE_BODY_BYTES } from "../src/off-loop/large-body.ts";
import { parseArgs } from "node:util";
import { compileDetector } from "../src/plugins/code_sanitation/detector.ts";
import { inspectBody } from "../src/plugins/code_sanitation/inspect-body.ts";
import { patternsOf } from "../src/plugins/code_sanitation/languages/by-language.ts";
import { LANGUAGES } from "../src/plugins/code_sanitation/settings.ts";
import { STEPS_ON_LOOP, stepsOffLoop, WorkExhausted } from "../src/plugins/code_sanitation/work-budget.ts";

const { values } = parseArgs({
  options: { minutes: { type: "string", default: "10" }, seed: { type: "string", default: "1" } },
});

/** A request must not keep /healthz waiting longer. */
const MAX_MS_ON_LOOP = 100;
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

/** Inspects a text body as the plugin does. */
function inspect(text: string, mode: Mode, limit: number): Cost {
  const body = { bodyText: text, body: null, isJson: false, headers: new Headers() };
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
function cheapest(text: string, mode: Mode, limit: number, rounds: number): Cost {
  let best = inspect(text, mode, limit);
  for (let round = 1; round < rounds; round++) {
    const cost = inspect(text, mode, limit);
    if (cost.ms < best.ms) best = cost;
  }
  return best;
}

function scoreOf(pieces: readonly string[], mode: Mode, goal: Goal): number {
  if (goal === "steps") return inspect(repeatTo(pieces, SEARCH_UNITS), mode, Infinity).steps / SEARCH_UNITS;
  return cheapest(repeatTo(pieces, LARGE_BODY_BYTES), mode, STEPS_ON_LOOP, 3).ms;
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

/** Prints the worst texts of a mode. Returns the longest inspection on the event loop in milliseconds. */
function report(mode: Mode, found: readonly Found[]): number {
  let longest = 0;
  const rows = (["steps", "time"] as const).flatMap((goal) =>
    found
      .filter((each) => each.mode === mode && each.goal === goal)
      .sort((one, other) => other.score - one.score)
      .slice(0, SHOWN),
  );
  console.log(`\n${mode}: ns per byte and steps per byte without a budget; 256 kB on the event loop`);
  for (const { pieces, goal } of rows) {
    const text = repeatTo(pieces, LARGE_BODY_BYTES);
    const whole = inspect(text.slice(0, LARGE_BODY_BYTES / 8), mode, Infinity);
    const onLoop = cheapest(text, mode, STEPS_ON_LOOP, 5);
    longest = Math.max(longest, onLoop.ms);
    const units = LARGE_BODY_BYTES / 8;
    const isWithinBudget = (whole.steps / units) * LARGE_BODY_BYTES <= stepsOffLoop(LARGE_BODY_BYTES);
    const end = isWithinBudget ? "completed in a thread" : "stopped by the budget of a thread";
    console.log(
      `${((whole.ms / units) * 1e6).toFixed(0).padStart(6)} ns ${(whole.steps / units).toFixed(1).padStart(6)} steps` +
        `  ${onLoop.ms.toFixed(1).padStart(6)} ms, ${onLoop.isStopped ? end : "completed"}  (${goal}) ${JSON.stringify(pieces.join(""))}`,
    );
  }
  return longest;
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
const longest = Math.max(report("block", found), report("sanitize", found));
console.log(
  `\n${found.length} searches; longest inspection on the event loop: ${longest.toFixed(1)} ms, at most ${MAX_MS_ON_LOOP} ms`,
);
if (longest > MAX_MS_ON_LOOP) process.exit(1);
