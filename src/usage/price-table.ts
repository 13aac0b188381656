// A compiled price list: finds the price of a model and computes the cost of a request. A model without a price in it has that
// of the next list.
import { BoundedCache } from "../base/bounded-cache.ts";
import type { TokenCounts } from "../formats/token-counts.ts";
import type { Price } from "../model/price.ts";
import { CompiledPrice } from "./compiled-price.ts";

/** Clients may send any model name, so the cache must be bounded. */
const CACHED_MODELS = 1000;

export class PriceTable {
  readonly #byName = new Map<string, number>();
  readonly #prefixes: readonly (readonly [prefix: string, index: number])[];
  readonly #cache = new BoundedCache<string, CompiledPrice | null>(CACHED_MODELS);
  readonly #prices: readonly CompiledPrice[];
  readonly #next: PriceTable | null;
  /** Whether requests to a model of this list, or of the next one, may cost nothing. */
  readonly hasFreeModels: boolean;

  constructor(prices: readonly Price[], next: PriceTable | null = null) {
    this.#next = next;
    this.#prices = prices.map((price) => new CompiledPrice(price));
    this.hasFreeModels = next?.hasFreeModels === true || this.#prices.some(({ mayBeFree }) => mayBeFree);
    const prefixes: [string, number][] = [];
    for (const [index, { model }] of prices.entries()) {
      if (model.endsWith("*")) prefixes.push([model.slice(0, -1), index]);
      else if (!this.#byName.has(model)) this.#byName.set(model, index);
    }
    this.#prefixes = prefixes;
  }

  /** Returns the cost in nano-dollars, or null if the model has no price. */
  costOf(model: string, tokens: TokenCounts): number | null {
    return this.priceOf(model)?.costOf(tokens) ?? null;
  }

  priceOf(model: string): CompiledPrice | null {
    let price = this.#cache.get(model);
    if (price === undefined) {
      price = this.#lookUp(model);
      this.#cache.set(model, price);
    }
    return price;
  }

  /** The first match in the list applies, whether it is a name or a prefix. */
  #lookUp(model: string): CompiledPrice | null {
    const indexByPrefix = this.#prefixes.find(([prefix]) => model.startsWith(prefix))?.[1] ?? Infinity;
    const index = Math.min(indexByPrefix, this.#byName.get(model) ?? Infinity);
    return this.#prices[index] ?? this.#next?.priceOf(model) ?? null;
  }
}
