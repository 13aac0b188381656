// One price in integers, and the cost of a request at it: exact, and rounded only once, to a nano-dollar.
import { decimalOf, nanosOf } from "../base/decimal.ts";
import type { TokenCounts } from "../formats/token-counts.ts";
import type { Price, PriceAmounts } from "../model/price.ts";

/** Prices in 10⁻⁹ US dollars: integers that a double represents exactly, because no price is above 10⁶ US dollars. */
interface Rates {
  readonly input: number;
  readonly cachedInput: number;
  readonly cacheWrite5m: number;
  readonly cacheWrite1h: number;
  readonly audioInput: number;
  readonly output: number;
  readonly reasoning: number;
  readonly audioOutput: number;
  /** The price of text that may be written to a prompt cache. */
  readonly highestText: number;
  /** The price of input of which only the number of tokens is known. */
  readonly highestInput: number;
  /** The price of output of which only the number of tokens is known. */
  readonly highestOutput: number;
  readonly perRequest: number;
}

/** Prices are per million tokens, so that a rate times tokens is a millionth of a nano-dollar. */
const TOKENS_PER_RATE = 1_000_000;
const MAX_EXACT = Number.MAX_SAFE_INTEGER - TOKENS_PER_RATE;

export class CompiledPrice {
  /** False if every request costs the same, so that its cost is known without its tokens. */
  readonly dependsOnTokens: boolean;
  /** Whether a request with input may cost nothing. */
  readonly mayBeFree: boolean;
  /** Tokens that the model returns at most; Infinity if it is not known. */
  readonly maxOutputTokens: number;
  /** Tokens that the model accepts at most; Infinity if it is not known. */
  readonly contextWindow: number;
  /** Whether writing a prompt cache costs more than other input. */
  readonly hasCacheWrites: boolean;
  readonly #base: Rates;
  readonly #above: Rates;
  readonly #aboveTokens: number;

  constructor(price: Price) {
    const amounts = withOldFields(price);
    const { above } = price;
    this.#base = toRates(amounts);
    this.#above = above === undefined ? this.#base : toRates(amountsAbove(amounts, above));
    this.#aboveTokens = above?.tokens ?? Infinity;
    this.contextWindow = price.context_window ?? Infinity;
    this.maxOutputTokens = price.max_output_tokens ?? Infinity;
    this.dependsOnTokens = above !== undefined || hasTokenRates(this.#base);
    this.hasCacheWrites = [this.#base, this.#above].some(({ input, highestText }) => highestText > input);
    this.mayBeFree = [this.#base, this.#above].some(({ input, perRequest }) => input + perRequest === 0);
  }

  /** Returns the cost in nano-dollars. */
  costOf(tokens: TokenCounts): number {
    const rates = tokens.inputTokens > this.#aboveTokens ? this.#above : this.#base;
    const millionths = millionthsOf(rates, tokens);
    // No term is negative, so that all terms and sums were exact if the last sum is below the limit.
    const nanos = millionths <= MAX_EXACT ? roundToNanos(millionths) : exactNanos(termsOf(rates, tokens));
    return Math.min(nanos + rates.perRequest, Number.MAX_SAFE_INTEGER);
  }

  /**
   * As `costOf`, for input and output of the most expensive kind that they may be of: a request must not cost
   * more. `specialTokens` are those of input that may be no text. Allocates nothing: plans of budgets call it
   * for every request.
   */
  costToReserve(
    textTokens: number,
    specialTokens: number,
    outputTokens: number,
    writesCache: boolean,
  ): number {
    const rates = textTokens + specialTokens > this.#aboveTokens ? this.#above : this.#base;
    const { highestInput, highestOutput } = rates;
    const text = writesCache ? rates.highestText : rates.input;
    const millionths = textTokens * text + specialTokens * highestInput + outputTokens * highestOutput;
    const nanos =
      millionths <= MAX_EXACT
        ? roundToNanos(millionths)
        : exactNanos([
            [textTokens, text],
            [specialTokens, highestInput],
            [outputTokens, highestOutput],
          ]);
    return Math.min(nanos + rates.perRequest, Number.MAX_SAFE_INTEGER);
  }
}

function millionthsOf(rates: Rates, tokens: TokenCounts): number {
  return (
    plainInputOf(tokens) * rates.input +
    tokens.cachedInputTokens * rates.cachedInput +
    tokens.cacheWrite5mTokens * rates.cacheWrite5m +
    tokens.cacheWrite1hTokens * rates.cacheWrite1h +
    tokens.audioInputTokens * rates.audioInput +
    plainOutputOf(tokens) * rates.output +
    tokens.reasoningTokens * rates.reasoning +
    tokens.audioOutputTokens * rates.audioOutput
  );
}

/**
 * Rounds half up. A remainder would take several times as long. The quotient is exact enough: it is below 2^34, where rounding changes it by at
 * most 2^-20, and if it is not whole, the next whole number is at least 1/1,000,000 away.
 */
function roundToNanos(millionths: number): number {
  return Math.floor((millionths + TOKENS_PER_RATE / 2) / TOKENS_PER_RATE);
}

type Term = readonly [count: number, rate: number];

function termsOf(rates: Rates, tokens: TokenCounts): Term[] {
  return [
    [plainInputOf(tokens), rates.input],
    [tokens.cachedInputTokens, rates.cachedInput],
    [tokens.cacheWrite5mTokens, rates.cacheWrite5m],
    [tokens.cacheWrite1hTokens, rates.cacheWrite1h],
    [tokens.audioInputTokens, rates.audioInput],
    [plainOutputOf(tokens), rates.output],
    [tokens.reasoningTokens, rates.reasoning],
    [tokens.audioOutputTokens, rates.audioOutput],
  ];
}

/** For products that a double does not represent exactly: expensive requests with very many tokens. */
function exactNanos(terms: readonly Term[]): number {
  let millionths = BigInt(TOKENS_PER_RATE / 2);
  for (const [count, rate] of terms) millionths += BigInt(count) * BigInt(rate);
  return Number(millionths / BigInt(TOKENS_PER_RATE));
}

function plainInputOf(tokens: TokenCounts): number {
  const { inputTokens, cachedInputTokens, cacheWrite5mTokens, cacheWrite1hTokens, audioInputTokens } = tokens;
  return inputTokens - cachedInputTokens - cacheWrite5mTokens - cacheWrite1hTokens - audioInputTokens;
}

function plainOutputOf({ outputTokens, reasoningTokens, audioOutputTokens }: TokenCounts): number {
  return outputTokens - reasoningTokens - audioOutputTokens;
}

function withOldFields(price: Price): PriceAmounts {
  const { input_per_million, output_per_million } = price;
  return {
    ...price,
    ...(input_per_million !== undefined && { input: decimalOf(input_per_million) }),
    ...(output_per_million !== undefined && { output: decimalOf(output_per_million) }),
  };
}

/**
 * Returns the prices above the size. If `above` has a plain price, the ones that default to it do not come from the base
 * price: a cached price of small requests says nothing about large ones.
 */
function amountsAbove(base: PriceAmounts, above: PriceAmounts): PriceAmounts {
  const { input, output, per_request, ...parts } = base;
  const { cached_input, cache_write_5m, cache_write_1h, audio_input, reasoning, audio_output } = parts;
  const ofInput = { cached_input, cache_write_5m, cache_write_1h, audio_input };
  const ofOutput = { reasoning, audio_output };
  return {
    input,
    output,
    per_request,
    ...(above.input === undefined && ofInput),
    ...(above.output === undefined && ofOutput),
    ...above,
  };
}

function toRates(amounts: PriceAmounts): Rates {
  const input = nanosOf(amounts.input ?? "0");
  const output = nanosOf(amounts.output ?? "0");
  const rateOr = (amount: string | undefined, plain: number) =>
    amount === undefined ? plain : nanosOf(amount);
  const [reasoning, audioOutput] = [rateOr(amounts.reasoning, output), rateOr(amounts.audio_output, output)];
  const cacheWrite5m = rateOr(amounts.cache_write_5m, input);
  const cacheWrite1h = rateOr(amounts.cache_write_1h, input);
  const audioInput = rateOr(amounts.audio_input, input);
  const highestText = Math.max(input, cacheWrite5m, cacheWrite1h);
  return {
    input,
    cachedInput: rateOr(amounts.cached_input, input),
    cacheWrite5m,
    cacheWrite1h,
    audioInput,
    output,
    reasoning,
    audioOutput,
    highestText,
    highestInput: Math.max(highestText, audioInput),
    highestOutput: Math.max(output, reasoning, audioOutput),
    perRequest: rateOr(amounts.per_request, 0),
  };
}

function hasTokenRates(rates: Rates): boolean {
  return Object.values({ ...rates, perRequest: 0 }).some((rate) => rate > 0);
}
