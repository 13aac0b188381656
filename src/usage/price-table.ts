// What tokens cost: the table that prices compile to.
import { BoundedCache } from "../base/bounded-cache.ts";
import type { Price } from "../model/price.ts";

const TOKENS_PER_PRICE = 1_000_000;
/** Clients may send any name: those looked up lately are remembered, not all there ever were. */
const CACHED_MODELS = 1000;

/** Immutable but for its memory. */
export class PriceTable {
  readonly #byName = new Map<string, number>();
  readonly #prefixes: readonly (readonly [prefix: string, index: number])[];
  readonly #found = new BoundedCache<string, Price | null>(CACHED_MODELS);
  readonly #prices: readonly Price[];

  constructor(prices: readonly Price[]) {
    this.#prices = prices;
    const prefixes: [string, number][] = [];
    for (const [index, { model }] of prices.entries()) {
      if (model.endsWith("*")) prefixes.push([model.slice(0, -1), index]);
      else if (!this.#byName.has(model)) this.#byName.set(model, index);
    }
    this.#prefixes = prefixes;
  }

  /** In US dollars; null where the model has no price. */
  costOf(model: string, inputTokens: number, outputTokens: number): number | null {
    const price = this.#priceOf(model);
    if (price === null) return null;
    const { input_per_million, output_per_million } = price;
    return (inputTokens * input_per_million + outputTokens * output_per_million) / TOKENS_PER_PRICE;
  }

  #priceOf(model: string): Price | null {
    let price = this.#found.get(model);
    if (price === undefined) {
      price = this.#lookUp(model);
      this.#found.set(model, price);
    }
    return price;
  }

  #lookUp(model: string): Price | null {
    const prefix = this.#prefixes.find(([text]) => model.startsWith(text))?.[1] ?? Infinity;
    const index = Math.min(prefix, this.#byName.get(model) ?? Infinity);
    return this.#prices[index] ?? null;
  }
}
