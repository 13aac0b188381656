// The sizes of recent responses per model: the 95th percentile is reserved for a request that does not limit its output.
import { ByModel } from "./by-model.ts";

const KEPT_RESPONSES = 100;
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
  readonly #models = new ByModel<RecentSizes>();

  add(gatewayId: string, model: string, tokens: number): void {
    this.#models.getOrCreate(gatewayId, model, () => new RecentSizes()).add(tokens);
  }

  /** Returns the output tokens that 95 percent of the last 100 responses did not exceed; null if there were none. */
  percentile(gatewayId: string, model: string): number | null {
    return this.#models.get(gatewayId, model)?.percentile ?? null;
  }
}
