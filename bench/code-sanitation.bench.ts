// The cost of code_sanitation with all nine languages: a clean prompt of each size, and hostile text of each size, where the
// time per byte must not grow. Reports CPU time besides wall-clock time, because only CPU time is comparable on a busy machine.
import { TextMemories } from "../src/base/text-memories.ts";
import { LARGE_BODY_BYTES } from "../src/off-loop/large-body.ts";
import type { InspectedBody } from "../src/plugins/code_sanitation/body-text.ts";
import { CleanTexts } from "../src/plugins/code_sanitation/clean-texts.ts";
import { compileDetector, type Detector } from "../src/plugins/code_sanitation/detector.ts";
import { inspectBody } from "../src/plugins/code_sanitation/inspect-body.ts";
import { firstInJson } from "../src/plugins/code_sanitation/json-text.ts";
import { RunEnds } from "../src/plugins/code_sanitation/run-ends.ts";
import { LANGUAGES } from "../src/plugins/code_sanitation/settings.ts";
import { stepsFor, WorkExhausted } from "../src/plugins/code_sanitation/work-budget.ts";
import { sourcesOf } from "../test/support/sources.ts";
import { HOSTILE, repeatTo } from "./hostile-texts.ts";
import { median, printTable, type Measurement } from "./report.ts";

const SIZES = [10_000, 100_000, 1_000_000, 5_000_000];
/** Total bytes scanned per size, so that each measurement takes a similar time. */
const BYTES_MEASURED = 10_000_000;
/** Hostile text takes up to a hundred times as long. */
const HOSTILE_SIZES = [10_000, 100_000, 1_000_000];
const HOSTILE_BYTES_MEASURED = 1_000_000;
const LIMITS: Readonly<Record<number, string>> = { 100_000: "at most 1 ms", 1_000_000: "at most 10 ms" };

/** A typical prompt: prose, a list, some code, some punctuation. */
const PROMPT = `You are a helpful assistant. Please read the report below and write a summary of about 200 words; it's
meant for people who don't know the project (new colleagues, mostly). Keep the tone friendly, and don't invent numbers.

1. What was planned for the third quarter, and what was done?
2. Which risks are open? Name the owner and the date, e.g. "Anna, 12 March".
3. How much was spent: 35% of the budget, or more?

    def average(values):
        total = 0
        for value in values:
            total += value
        return total / len(values)

The team met on Monday & Thursday. Costs = price * days; the rest is in the table at https://example.com/report?id=7.

`;
/** Medians over many scans, in milliseconds. */
interface Cost {
  readonly wallClock: number;
  readonly cpu: number;
}

export function benchCodeSanitation(): Promise<void> {
  const detector = compileDetector(LANGUAGES);
  costOf(repeatTo(PROMPT, 1_000_000), (text) => detector.first(text));
  const clean = SIZES.map((size): Measurement => {
    const cost = costOf(repeatTo(PROMPT, size), (text) => detector.first(text));
    return measured(`${size.toLocaleString("en")} bytes`, cost, size, LIMITS[size]);
  });
  clean.push(...ordinaryCosts((text) => detector.findAll(text)));
  const body = JSON.stringify({
    model: "m",
    messages: [{ role: "user", content: repeatTo(PROMPT, 100_000) }],
  });
  const inBody = costOf(body, (text) => firstInJson(text, detector));
  clean.push(measured("100 kB prompt in its JSON body", inBody, body.length));
  printTable("code_sanitation, nine languages, clean prompt, median", clean);

  printTable(
    `code_sanitation, JSON strings of ${STRING_UNITS.toLocaleString("en")} characters, fastest of ${STRING_ROUNDS} rounds`,
    jsonStringCosts(detector),
  );

  printTable("code_sanitation, a conversation of 100 kB as a JSON body, median", conversationCosts(detector));

  const hostile = Object.entries(HOSTILE).map(([name, piece]): Measurement => {
    const perByte = HOSTILE_SIZES.map((size) => {
      const scan = (text: string) => detector.findAll(text);
      const cost = costOf(repeatTo(piece, size), scan, HOSTILE_BYTES_MEASURED);
      return (cost.cpu / size) * 1e6;
    });
    const bySize = perByte.map((value) => value.toFixed(1)).join(", ");
    return { what: name, value: perByte.at(-1) ?? 0, unit: "ns/byte", note: `by size ${bySize}` };
  });
  printTable("code_sanitation, hostile text, 10 kB to 1 MB, CPU time: must not grow with the size", hostile);
  printTable(
    "code_sanitation, 256 kB of hostile text with its budget, CPU time: at most 30 ns/byte",
    limitedCosts(),
  );
  return Promise.resolve();
}

const STRING_UNITS = 2000;
const STRING_ROUNDS = 60;

const MESSAGE_SIZES = [1000, 2000, 4000];
const CONVERSATION_BYTES = 100_000;

/** The cost of a conversation that is new, one that was seen before, and one with a new message of 2 kB. */
function conversationCosts(detector: Detector): Measurement[] {
  const memory = new TextMemories().open({ owner: "gateway", name: "benchmark" });
  const runEnds = new RunEnds();
  const headers = new Headers();
  const inspect = (bytes: Uint8Array) => {
    const texts = new CleanTexts(memory, runEnds);
    const body = { body: null, bodyText: null, bodyView: bytes, isJson: true, headers };
    inspectBody(body, detector, null, { roles: null, onFound: () => undefined, texts });
  };
  let serial = 0;
  const message = (size: number) => `${serial++} ${repeatTo(PROMPT, size)}`;
  return MESSAGE_SIZES.flatMap((size) => {
    const messages = (count: number) => Array.from({ length: count }, () => message(size));
    const seen = messages(CONVERSATION_BYTES / size);
    const known = chatBody(seen);
    const row = (what: string, bodies: () => Uint8Array): Measurement => {
      const cost = microsecondsOf(bodies, inspect);
      const note = `${((cost / known.length) * 1000).toFixed(2)} ns/byte`;
      return {
        what: `messages of ${size.toLocaleString("en")} bytes, ${what}`,
        value: cost,
        unit: "µs",
        note,
      };
    };
    return [
      row("new", () => chatBody(messages(seen.length))),
      row("seen before", () => known),
      row("seen before, and 2 kB new", () => chatBody([...seen, message(2000)])),
    ];
  });
}

function chatBody(texts: readonly string[]): Uint8Array {
  const messages = texts.map((content, index) => ({ role: index % 2 === 0 ? "user" : "assistant", content }));
  return Buffer.from(JSON.stringify({ model: "gpt-4o-mini", messages }));
}

/** Returns the median. */
function microsecondsOf(bodies: () => Uint8Array, inspect: (body: Uint8Array) => void): number {
  const times: number[] = [];
  for (let round = 0; round < 300; round++) {
    const body = bodies();
    const started = performance.now();
    inspect(body);
    // The first ones are not compiled yet.
    if (round >= 100) times.push((performance.now() - started) * 1000);
  }
  return median(times);
}

/** The cost of texts that do not repeat: processors predict the branches of a repeated paragraph. */
function ordinaryCosts(scan: (text: string) => unknown): Measurement[] {
  return Object.entries(ordinaryTexts()).flatMap(([name, text]) =>
    [100_000, 800].map((size): Measurement => {
      const pieces = piecesOf(text, size);
      const scanAll = () => {
        for (const piece of pieces) scan(piece);
      };
      // Until everything is compiled.
      for (let bytes = 0; bytes < 4 * BYTES_MEASURED; bytes += pieces.length * size) scanAll();
      const { wallClock, cpu } = costOf(text, scanAll, text.length * 9);
      const each = { wallClock: wallClock / pieces.length, cpu: cpu / pieces.length };
      return measured(`${name}, ${size.toLocaleString("en")} bytes each`, each, size);
    }),
  );
}

function ordinaryTexts(): Record<string, string> {
  const documents = sourcesOf("docs", "md");
  return {
    "Markdown of docs": documents,
    "sentences of docs": sentencesOf(documents),
    sources: sourcesOf("src"),
  };
}

function piecesOf(text: string, size: number): string[] {
  return Array.from({ length: Math.min(500, Math.floor(text.length / size)) }, (_, index) =>
    text.slice(index * size, (index + 1) * size),
  );
}

/** The cost of the same texts as strings of a JSON body, which are inspected in their bytes. Those in which something is found do not count. */
function jsonStringCosts(detector: Detector): Measurement[] {
  return Object.entries(ordinaryTexts()).map(([name, text]): Measurement => {
    const isClean = (json: Buffer) => detector.isCleanJson(json, 1, json.length - 1);
    // Twice, because the tables are created with the first strings.
    const strings = piecesOf(text, STRING_UNITS).map((piece) => Buffer.from(JSON.stringify(piece)));
    const clean = strings.filter((json) => isClean(json) || isClean(json));
    const bytes = clean.reduce((sum, json) => sum + json.length, 0);
    const rounds = Array.from({ length: STRING_ROUNDS }, () => {
      const started = performance.now();
      for (const json of clean) isClean(json);
      return ((performance.now() - started) / bytes) * 1e6;
    });
    return { what: name, value: Math.min(...rounds), unit: "ns/byte", note: `${clean.length} strings` };
  });
}

/** Returns the lines of paragraphs without Markdown syntax. */
function sentencesOf(markdown: string): string {
  return markdown
    .replace(/^```[\s\S]*?^```$/gm, "")
    .split("\n")
    .filter((line) => line.length > 40 && !/^\s*[|#<-]/.test(line))
    .join("\n")
    .replace(/[`*_[\]]/g, "");
}

/** The cost of a body that is inspected completely, or until its budget is exhausted. */
function limitedCosts(): Measurement[] {
  const work = { steps: 0, limit: Infinity };
  const detector = compileDetector(LANGUAGES, work);
  const limit = stepsFor(LARGE_BODY_BYTES);
  return Object.entries(HOSTILE).flatMap(([name, piece]) =>
    [null, "X"].map((mask): Measurement => {
      const headers = new Headers();
      const scan = (bodyText: string) =>
        inspectWithBudget({ bodyText, body: null, isJson: false, headers }, mask);
      const { cpu } = costOf(repeatTo(piece, LARGE_BODY_BYTES), scan);
      const steps = `${work.steps.toLocaleString("en")} steps${work.steps > limit ? ", incomplete" : ""}`;
      return {
        what: `${name}, ${mask === null ? "block" : "sanitize"}`,
        value: (cpu / LARGE_BODY_BYTES) * 1e6,
        unit: "ns/byte",
        note: steps,
      };
    }),
  );

  function inspectWithBudget(body: InspectedBody, mask: string | null): void {
    try {
      detector.limitWork(limit, () => inspectBody(body, detector, mask));
    } catch (error) {
      if (!(error instanceof WorkExhausted)) throw error;
    }
  }
}

function measured(what: string, { wallClock, cpu }: Cost, bytes: number, limit = ""): Measurement {
  const perByte = (cpu / bytes) * 1e6;
  const note = `CPU ${cpu.toFixed(3)} ms, ${perByte.toFixed(1)} ns/byte   ${limit}`;
  return { what, value: wallClock, unit: "ms", note: note.trimEnd() };
}

function costOf(text: string, scan: (text: string) => unknown, bytesMeasured = BYTES_MEASURED): Cost {
  const rounds = Math.max(3, Math.min(200, Math.round(bytesMeasured / text.length)));
  const wallClock: number[] = [];
  const cpu: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const before = process.cpuUsage();
    const started = performance.now();
    scan(text);
    wallClock.push(performance.now() - started);
    const { user, system } = process.cpuUsage(before);
    cpu.push((user + system) / 1000);
  }
  return { wallClock: median(wallClock), cpu: median(cpu) };
}
