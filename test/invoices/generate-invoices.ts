// Generates invoices.jsonl: prices, and 2,000 usage objects of all formats with their cost, which is computed here with big
// integers. Written from the documentation of prices and formats; it shares no code with the gateway.
// Run `node_modules/.bin/bun test/invoices/generate-invoices.ts` after a change.
import { writeFileSync } from "node:fs";
import { join } from "node:path";

export const INVOICES_FILE = join(import.meta.dir, "invoices.jsonl");
const INVOICES = 2000;
const SEED = 20_261_116;

export type InvoiceFormat = "openai" | "responses" | "anthropic" | "gemini";

/** One line of the file. */
export interface Invoice {
  readonly format: InvoiceFormat;
  readonly model: string;
  /** As the provider sends it. */
  readonly usage: Readonly<Record<string, unknown>>;
  /** Nano-dollars. */
  readonly cost: string;
}

type Amounts = Readonly<Record<string, string>>;

type InvoicePrice = {
  readonly model: string;
  readonly above?: { readonly tokens: number } & object;
} & object;

interface Rates {
  readonly base: Amounts;
  readonly above: { readonly tokens: number; readonly amounts: Amounts } | null;
}

/** What a provider counted, each token in one place. */
interface Counted {
  readonly plainInput: number;
  readonly cached: number;
  readonly written5m: number;
  readonly written1h: number;
  readonly audioInput: number;
  readonly plainOutput: number;
  readonly reasoning: number;
  readonly audioOutput: number;
}

type Random = (below: number) => number;

/** A linear congruential generator (Numerical Recipes): the file must be the same everywhere. */
function createRandom(seed: number): Random {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const INPUT_PARTS = ["cached_input", "cache_write_5m", "cache_write_1h", "audio_input"] as const;
const OUTPUT_PARTS = ["reasoning", "audio_output"] as const;

function amountOf(random: Random): string {
  const digits = random(10);
  const whole = String(random(4) === 0 ? random(200) : random(16));
  return digits === 0 ? whole : `${whole}.${String(random(10 ** digits)).padStart(digits, "0")}`;
}

function amountsOf(random: Random, isComplete: boolean): Record<string, string> {
  const amounts: Record<string, string> = {};
  if (isComplete || random(2) === 0) amounts["input"] = amountOf(random);
  if (isComplete || random(2) === 0) amounts["output"] = amountOf(random);
  for (const name of [...INPUT_PARTS, ...OUTPUT_PARTS]) if (random(2) === 0) amounts[name] = amountOf(random);
  if (random(4) === 0) amounts["per_request"] = `0.${String(random(1e9)).padStart(9, "0")}`;
  return amounts;
}

function ratesOf(random: Random, index: number): Rates {
  // The fields that old documents have are numbers.
  const base =
    index % 10 === 9
      ? { input_per_million: String(random(1000) / 100), output_per_million: String(random(1000) / 100) }
      : amountsOf(random, true);
  const above = random(3) === 0 ? { tokens: 1 + random(300_000), amounts: amountsOf(random, false) } : null;
  return { base, above };
}

function priceOf(model: string, { base, above }: Rates): InvoicePrice {
  const isOld = base["input_per_million"] !== undefined;
  const fields = isOld
    ? Object.fromEntries(Object.entries(base).map(([name, text]) => [name, Number(text)]))
    : base;
  return { model, ...fields, ...(above !== null && { above: { tokens: above.tokens, ...above.amounts } }) };
}

function countOf(random: Random): number {
  const size = [0, 10, 1000, 20_000, 400_000][random(5)] ?? 0;
  return size === 0 ? 0 : random(size);
}

function countedOf(random: Random, format: InvoiceFormat): Counted {
  const hasAudio = format === "openai" || format === "responses";
  return {
    plainInput: countOf(random),
    cached: random(2) === 0 ? countOf(random) : 0,
    written5m: format === "anthropic" ? countOf(random) : 0,
    written1h: format === "anthropic" ? countOf(random) : 0,
    audioInput: hasAudio && random(4) === 0 ? countOf(random) : 0,
    plainOutput: countOf(random),
    reasoning: random(2) === 0 ? countOf(random) : 0,
    audioOutput: hasAudio && random(4) === 0 ? countOf(random) : 0,
  };
}

/** How each provider reports these counts. */
function usageOf(format: InvoiceFormat, counted: Counted): Record<string, unknown> {
  const { plainInput, cached, written5m, written1h, audioInput, plainOutput, reasoning, audioOutput } =
    counted;
  // OpenAI's input includes cached tokens and its output includes reasoning.
  const input = plainInput + cached + audioInput;
  const output = plainOutput + reasoning + audioOutput;
  switch (format) {
    case "openai":
      return {
        prompt_tokens: input,
        completion_tokens: output,
        total_tokens: input + output,
        prompt_tokens_details: { cached_tokens: cached, audio_tokens: audioInput },
        completion_tokens_details: {
          reasoning_tokens: reasoning,
          audio_tokens: audioOutput,
          accepted_prediction_tokens: 0,
          rejected_prediction_tokens: 0,
        },
      };
    case "responses":
      return {
        input_tokens: input,
        input_tokens_details: { cached_tokens: cached, audio_tokens: audioInput },
        output_tokens: output,
        output_tokens_details: { reasoning_tokens: reasoning, audio_tokens: audioOutput },
        total_tokens: input + output,
      };
    case "anthropic":
      // Anthropic's input includes neither reads nor writes of the cache. Thinking is part of its output.
      return {
        input_tokens: plainInput,
        cache_creation_input_tokens: written5m + written1h,
        cache_read_input_tokens: cached,
        cache_creation: { ephemeral_5m_input_tokens: written5m, ephemeral_1h_input_tokens: written1h },
        output_tokens: output,
        output_tokens_details: { thinking_tokens: reasoning },
        service_tier: "standard",
      };
    case "gemini":
      // Gemini's prompt includes cached content, and thoughts are beside the candidates.
      return {
        promptTokenCount: input,
        cachedContentTokenCount: cached,
        candidatesTokenCount: plainOutput,
        thoughtsTokenCount: reasoning,
        totalTokenCount: input + output,
        promptTokensDetails: [{ modality: "TEXT", tokenCount: input }],
      };
  }
}

/** US dollars per million tokens, or per request, in 10⁻⁹ dollars. */
function nanos(dollars: string): bigint {
  const [whole = "", fraction = ""] = dollars.split(".");
  return BigInt(whole) * 1_000_000_000n + BigInt(fraction.padEnd(9, "0"));
}

/** An absent price is the plain one; above a size, the prices of `above` apply to the whole request. */
function costOf({ base, above }: Rates, counted: Counted): bigint {
  const { plainInput, cached, written5m, written1h, audioInput, plainOutput, reasoning, audioOutput } =
    counted;
  const allInput = plainInput + cached + written5m + written1h + audioInput;
  const tier = above !== null && allInput > above.tokens ? above.amounts : {};
  const plain = (name: "input" | "output") => base[name] ?? base[`${name}_per_million`] ?? "0";
  const rate = (name: string, whole: "input" | "output") =>
    nanos(tier[name] ?? tier[whole] ?? base[name] ?? plain(whole));
  const millionths =
    BigInt(plainInput) * rate("input", "input") +
    BigInt(cached) * rate("cached_input", "input") +
    BigInt(written5m) * rate("cache_write_5m", "input") +
    BigInt(written1h) * rate("cache_write_1h", "input") +
    BigInt(audioInput) * rate("audio_input", "input") +
    BigInt(plainOutput) * rate("output", "output") +
    BigInt(reasoning) * rate("reasoning", "output") +
    BigInt(audioOutput) * rate("audio_output", "output");
  const rounded = (2n * millionths + 1_000_000n) / 2_000_000n;
  return rounded + nanos(tier["per_request"] ?? base["per_request"] ?? "0");
}

const FORMATS: readonly InvoiceFormat[] = ["openai", "responses", "anthropic", "gemini"];
const PRICES = 40;

/** The first line has the prices, each of the others an invoice. */
export function generateInvoices(): string {
  const random = createRandom(SEED);
  const rates = Array.from({ length: PRICES }, (_, index) => ratesOf(random, index));
  const lines: unknown[] = [rates.map((each, index) => priceOf(`model-${index}`, each))];
  for (let index = 0; index < INVOICES; index++) {
    const format = FORMATS[index % FORMATS.length] ?? "openai";
    const priceIndex = random(PRICES);
    const counted = countedOf(random, format);
    const rate = rates[priceIndex];
    if (rate === undefined) throw new RangeError("no such price");
    const usage = usageOf(format, counted);
    const invoice: Invoice = {
      format,
      model: `model-${priceIndex}`,
      usage,
      cost: String(costOf(rate, counted)),
    };
    lines.push(invoice);
  }
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

if (import.meta.main) writeFileSync(INVOICES_FILE, generateInvoices());
