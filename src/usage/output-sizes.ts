// The sizes of recent responses per model: the 95th percentile is reserved for a request that does not limit its output.
import { BoundedCache } from "../base/bounded-cache.ts";

const KEPT_RESPONSES = 100;
/** Clients may send any model name. */
const KEPT_MODELS = 1000;
const PERCENTILE = 0.95;

class RecentSizes {
  readonly #sizes: number[] = [];
  #next = 0;
  #percentile: number | null = null;

  add(tokens: number): void {
    this.#sizes[this.#next] = tokens;
    this.#next = (this.#next + 1) % KEPT_RESPONSES;
    this.#percentile = null;
  }

  get percentile(): number {
    this.#percentile ??=
      this.#sizes.toSorted((a, b) => a - b)[Math.ceil(this.#sizes.length * PERCENTILE) - 1] ?? 0;
    return this.#percentile;
  }
}

export class OutputSizes {
  readonly #models = new BoundedCache<string, RecentSizes>(KEPT_MODELS);

  add(gatewayId: string, model: string, tokens: number): void {
    const key = `${gatewayId} ${model}`;
    let sizes = this.#models.get(key);
    if (sizes === undefined) this.#models.set(key, (sizes = new RecentSizes()));
    sizes.add(tokens);
  }

  /** Returns the output tokens that 95 percent of the last 100 responses did not exceed; null if there were none. */
  percentile(gatewayId: string, model: string): number | null {
    return this.#models.get(`${gatewayId} ${model}`)?.percentile ?? null;
  }
}
