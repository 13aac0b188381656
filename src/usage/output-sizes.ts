// The output of recent responses with one choice per model: the 95th percentile is reserved for a request that does not limit its output.
import { ByModel } from "./by-model.ts";

const KEPT_RESPONSES = 100;
const PERCENTILE = 0.95;

class RecentSizes {
  readonly #sizes: number[] = [];
  #next = 0;
  /** The same in ascending order: sorting all of them for every request would take as long as everything else of a budget. */
  readonly #sorted: number[] = [];

  add(tokens: number): void {
    const oldest = this.#sizes[this.#next];
    if (oldest !== undefined) this.#sorted.splice(this.#positionOf(oldest), 1);
    this.#sorted.splice(this.#positionOf(tokens), 0, tokens);
    this.#sizes[this.#next] = tokens;
    this.#next = (this.#next + 1) % KEPT_RESPONSES;
  }

  get percentile(): number {
    return this.#sorted[Math.ceil(this.#sorted.length * PERCENTILE) - 1] ?? 0;
  }

  /** Returns the position of the first size that is not smaller. */
  #positionOf(tokens: number): number {
    let [low, high] = [0, this.#sorted.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#sorted[middle] ?? 0) < tokens) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

export class OutputSizes {
  readonly #models = new ByModel(() => new RecentSizes());

  add(gatewayId: string, model: string, tokens: number): void {
    this.#models.getOrCreate(gatewayId, model).add(tokens);
  }

  /** Returns the output tokens that 95 percent of the last 100 responses did not exceed; null if there were none. */
  percentile(gatewayId: string, model: string): number | null {
    return this.#models.get(gatewayId, model)?.percentile ?? null;
  }
}
