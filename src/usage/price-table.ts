// The compiled price list: computes the cost of a request from its model and tokens.
import { BoundedCache } from "../base/bounded-cache.ts";
import type { Price } from "../model/price.ts";

const TOKENS_PER_PRICE_UNIT = 1_000_000;
/** Clients may send any model name, so the cache must be bounded. */
const CACHED_MODELS = 1000;

export class PriceTable {
  readonly #byName = new Map<string, number>();
  readonly #prefixes: readonly (readonly [prefix: string, index: number])[];
  readonly #cache = new BoundedCache<string, Price | null>(CACHED_MODELS);
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

  /** Returns the cost in US dollars, or null if the model has no price. */
  costOf(model: string, inputTokens: number, outputTokens: number): number | null {
    const price = this.#priceOf(model);
    if (price === null) return null;
    const { input_per_million, output_per_million } = price;
    return (inputTokens * input_per_million + outputTokens * output_per_million) / TOKENS_PER_PRICE_UNIT;
  }

  #priceOf(model: string): Price | null {
    let price = this.#cache.get(model);
    if (price === undefined) {
      price = this.#lookUp(model);
      this.#cache.set(model, price);
    }
    return price;
  }

  /** The first match in the list applies, whether it is a name or a prefix. */
  #lookUp(model: string): Price | null {
    const indexByPrefix = this.#prefixes.find(([prefix]) => model.startsWith(prefix))?.[1] ?? Infinity;
    const index = Math.min(indexByPrefix, this.#byName.get(model) ?? Infinity);
    return this.#prices[index] ?? null;
  }
}
