// What code_sanitation costs with all nine languages: a clean prompt at each size, and hostile text at each size, where
// the time a byte must not grow.
import { compileDetector } from "../src/plugins/code_sanitation/detector.ts";
import { firstInJson } from "../src/plugins/code_sanitation/json-text.ts";
import { LANGUAGES } from "../src/plugins/code_sanitation/settings.ts";
import { median, printTable, timeEach, type Measured } from "./report.ts";

const SIZES = [10_000, 100_000, 1_000_000, 5_000_000];
/** Of all sizes, so that each is measured in comparable time. */
const BYTES_MEASURED = 10_000_000;
const LIMITS: Readonly<Record<number, string>> = { 100_000: "at most 2 ms", 1_000_000: "at most 20 ms" };

/** A prompt as people write them: prose, a list, some code, some punctuation. */
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
const HOSTILE: Readonly<Record<string, string>> = {
  spaces: " ",
  quotes: "'",
  "<": "<",
  "SELECT ": "SELECT ",
  "or 1 ": "or 1 ",
  "%25": "%25",
  "/*": "/*",
  "; ": "; ",
};

export async function benchCodeSanitation(): Promise<void> {
  const detector = compileDetector(LANGUAGES);
  await milliseconds(repeatTo(PROMPT, 1_000_000), (text) => detector.first(text));
  const clean: Measured[] = [];
  for (const size of SIZES) {
    const value = await milliseconds(repeatTo(PROMPT, size), (text) => detector.first(text));
    const perByte = `${((value / size) * 1e6).toFixed(1)} ns a byte`;
    clean.push({
      what: `${size.toLocaleString("en")} bytes`,
      value,
      unit: "ms",
      note: [perByte, LIMITS[size]].join("   "),
    });
  }
  const body = JSON.stringify({
    model: "m",
    messages: [{ role: "user", content: repeatTo(PROMPT, 100_000) }],
  });
  const inBody = await milliseconds(body, (text) => firstInJson(text, detector));
  clean.push({ what: "100 kB prompt in its JSON body", value: inBody, unit: "ms" });
  printTable("code_sanitation, nine languages, clean prompt, median", clean);

  const hostile: Measured[] = [];
  for (const [name, piece] of Object.entries(HOSTILE)) {
    const perByte: number[] = [];
    for (const size of SIZES)
      perByte.push(
        ((await milliseconds(repeatTo(piece, size), (text) => detector.findAll(text))) / size) * 1e6,
      );
    hostile.push({
      what: name,
      value: perByte.at(-1) ?? 0,
      unit: "ns a byte",
      note: `by size ${perByte.map((value) => value.toFixed(1)).join(", ")}`,
    });
  }
  printTable("code_sanitation, hostile text, 10 kB to 5 MB: flat is good", hostile);
}

async function milliseconds(text: string, scan: (text: string) => unknown): Promise<number> {
  const rounds = Math.max(5, Math.min(200, Math.round(BYTES_MEASURED / text.length)));
  return median(await timeEach(rounds, () => Promise.resolve(scan(text))));
}

function repeatTo(piece: string, length: number): string {
  return piece.repeat(Math.ceil(length / piece.length)).slice(0, length);
}
