// Corrects estimates of input tokens per model: vocabularies of models differ, and so do the tokens that they count for one text.
import { ByModel } from "./by-model.ts";

/** The weight of a request relative to that of the next one: about the last 20 requests count. */
const DECAY = 0.95;
/** Tokens that count as estimated correctly, so that a few tokens more or less of short requests change little. */
const PRIOR_TOKENS = 1000;
/** A request with unusual content, as of images, does not distort the ratio; and no ratio is beyond these. */
const MIN_RATIO = 0.5;
const MAX_RATIO = 2;

/** Weighted sums of recent requests to one model. */
class Recent {
  #estimated = 0;
  #settled = 0;

  add(estimated: number, settled: number): void {
    this.#estimated = this.#estimated * DECAY + estimated;
    this.#settled = this.#settled * DECAY + clamp(settled, estimated * MIN_RATIO, estimated * MAX_RATIO);
  }

  get ratio(): number {
    return (PRIOR_TOKENS + this.#settled) / (PRIOR_TOKENS + this.#estimated);
  }
}

export class InputCalibration {
  readonly #models = new ByModel(() => new Recent());

  /** Call with the estimated input of a request, before it was calibrated, and that which the provider has reported. */
  add(gatewayId: string, model: string, estimated: number, settled: number): void {
    if (estimated <= 0 || settled <= 0) return;
    this.#models.getOrCreate(gatewayId, model).add(estimated, settled);
  }

  /** Returns the estimate of a request to this model, which is null if it is not known. */
  calibrate(gatewayId: string, model: string | null, estimated: number): number {
    const recent = model === null ? undefined : this.#models.get(gatewayId, model);
    return recent === undefined ? estimated : Math.ceil(estimated * recent.ratio);
  }
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(Math.max(value, min), max);
}
