// `npm run accuracy:tokens [-- --record]`: compares estimated tokens with those of real tokenizers, by class of text and by length, and
// measures the time. Exits with 1 if a ratio is out of bounds, but not for the time, which depends on the machine. --record writes the true
// counts of the samples, which `npm test` compares with.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { estimateRequestTokens, estimateTokens } from "../src/formats/token-estimate.ts";
import { readSamples, readSources, SAMPLES, type Source } from "./accuracy/token-texts.ts";
import { loadTokenizers, type Tokenizer } from "./accuracy/tokenizers.ts";

const MIN_RATIO = 0.75;
const MAX_RATIO = 1.35;
const CHUNK_LENGTHS = [200, 2000, 20_000];
const MAX_CHUNKS = 400;
/** Of the shortest texts, this share may be out of bounds: a few rare words or a repeated one can make up most of such a text. */
const MAX_SHORT_OUTSIDE = 0.005;
/** Classes whose counts differ by more than the bounds between the two vocabularies: their estimates follow the newer one. */
const NEWER_VOCABULARY_ONLY = new Set(["latin", "cyrillic", "cjk", "script"]);
const MAX_MS_PER_100_KB = 2;
const TIMED_ROUNDS = 40;
const COUNTS_FILE = join(SAMPLES, "counts.json");

interface Measured {
  readonly kind: string;
  readonly length: number;
  readonly tokenizer: string;
  readonly ratios: number[];
}

const { values } = parseArgs({ options: { record: { type: "boolean", default: false } } });
const tokenizers = await loadTokenizers();
const exceeded: string[] = [];
checkCounts();
const sources = readSources();
reportRatios(sources);
reportRequests(sources);
reportTimes(sources);
if (exceeded.length > 0) {
  console.error(`\naccuracy:tokens: ${exceeded.join("; ")}`);
  process.exit(1);
}

/** Compares the recorded counts of the samples, or records them. */
function checkCounts(): void {
  const counts = Object.fromEntries(
    readSamples().map(({ name, text }) => [
      name,
      Object.fromEntries(tokenizers.map((tokenizer) => [tokenizer.name, tokenizer.count(text)])),
    ]),
  );
  const json = `${JSON.stringify(counts, null, 2)}\n`;
  if (values.record) writeFileSync(COUNTS_FILE, json);
  else if (readFileSync(COUNTS_FILE, "utf8") !== json)
    exceeded.push("test/golden/tokens/counts.json is outdated, run npm run accuracy:tokens -- --record");
}

function reportRatios(texts: readonly Source[]): void {
  console.log("Estimated tokens / true tokens");
  console.log(row(["class", "length", "vocabulary", "texts", "min", "mean", "max", "outside", "bounds"]));
  for (const kind of new Set(texts.map((text) => text.kind)))
    for (const length of CHUNK_LENGTHS) {
      const chunks = texts.filter((text) => text.kind === kind).flatMap(({ text }) => chunksOf(text, length));
      const estimates = chunks.map(estimateTokens);
      for (const tokenizer of tokenizers) {
        const ratios = chunks.map((chunk, index) => (estimates[index] ?? 0) / tokenizer.count(chunk));
        reportRatio({ kind, length, tokenizer: tokenizer.name, ratios });
      }
    }
}

/** Requests of the chat format, whose tokens OpenAI documents as those of the texts, 3 per message, 1 for its role, and 3. */
function reportRequests(texts: readonly Source[]): void {
  const prose = texts.filter(({ kind }) => kind === "prose" || kind === "code" || kind === "json");
  const requests = prose.flatMap(({ text }) => {
    const chunks = chunksOf(text, 500);
    return Array.from({ length: Math.floor(chunks.length / 5) }, (_, index) =>
      chunks.slice(5 * index, 5 * index + 5),
    );
  });
  for (const tokenizer of tokenizers)
    reportRatio({
      kind: "requests",
      length: 2500,
      tokenizer: tokenizer.name,
      ratios: requests.map((contents) => requestRatio(contents, tokenizer)),
    });
}

function requestRatio(contents: readonly string[], tokenizer: Tokenizer): number {
  const messages = contents.map((content, index) => ({
    role: index % 2 === 0 ? "user" : "assistant",
    content,
  }));
  const expected = contents.reduce((sum, content) => sum + tokenizer.count(content) + 4, 3);
  return estimateRequestTokens({ model: "any", messages }) / expected;
}

function reportRatio({ kind, length, tokenizer, ratios }: Measured): void {
  const isBounded = tokenizer === tokenizers[0]?.name || !NEWER_VOCABULARY_ONLY.has(kind);
  const min = Math.min(...ratios);
  const max = Math.max(...ratios);
  const mean = ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length;
  const numbers = [min, mean, max].map((ratio) => ratio.toFixed(2));
  const bounds = isBounded ? `${MIN_RATIO} to ${MAX_RATIO}` : "none";
  const outside = ratios.filter((ratio) => ratio < MIN_RATIO || ratio > MAX_RATIO).length / ratios.length;
  console.log(
    row([
      kind,
      String(length),
      tokenizer,
      String(ratios.length),
      ...numbers,
      `${(outside * 100).toFixed(1)} %`,
      bounds,
    ]),
  );
  if (isBounded && outside > (length === CHUNK_LENGTHS[0] ? MAX_SHORT_OUTSIDE : 0))
    exceeded.push(`${kind} of ${length} characters: ${numbers.join(" ")} with ${tokenizer}`);
}

function reportTimes(texts: readonly Source[]): void {
  console.log(`\nMilliseconds per 100 kB, fastest of ${TIMED_ROUNDS} rounds`);
  for (const kind of new Set(texts.map((text) => text.kind))) {
    const text = texts
      .filter((candidate) => candidate.kind === kind)
      .map((candidate) => candidate.text.slice(0, 50_000))
      .join("");
    const kilobytes = Buffer.byteLength(text) / 1000;
    let fastest = Infinity;
    for (let round = 0; round < TIMED_ROUNDS; round++) {
      const start = performance.now();
      estimateTokens(text);
      fastest = Math.min(fastest, performance.now() - start);
    }
    const milliseconds = (fastest / kilobytes) * 100;
    const comparison = milliseconds > MAX_MS_PER_100_KB ? `above ${MAX_MS_PER_100_KB}` : "";
    console.log(row([kind, milliseconds.toFixed(2), comparison]));
  }
}

/** Up to MAX_CHUNKS chunks, spread over the text. */
function chunksOf(text: string, length: number): readonly string[] {
  const count = Math.floor(text.length / length);
  const stride = Math.ceil(count / MAX_CHUNKS);
  const chunks: string[] = [];
  for (let index = 0; index < count; index += stride)
    chunks.push(text.slice(index * length, (index + 1) * length));
  return chunks;
}

function row(cells: readonly string[]): string {
  return `  ${cells.map((cell, index) => (index === 0 ? cell.padEnd(10) : cell.padStart(13))).join("")}`;
}
