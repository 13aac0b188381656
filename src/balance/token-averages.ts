// Moving averages of the tokens of a target's responses, for the expected cost of its next request.

/** Weight of the latest response. */
const GAIN = 0.1;
/** Before the first response. */
const DEFAULT_OUTPUT_TOKENS = 500;

export class TokenAverages {
  #cachedShare = 0;
  #outputTokens = DEFAULT_OUTPUT_TOKENS;
  #isMeasured = false;

  /** The part of the input that the provider had cached, from 0 to 1. */
  get cachedShare(): number {
    return this.#cachedShare;
  }

  get outputTokens(): number {
    return this.#outputTokens;
  }

  record(input: number, cachedInput: number, output: number): void {
    if (input <= 0) return;
    const gain = this.#isMeasured ? GAIN : 1;
    this.#isMeasured = true;
    this.#cachedShare += (Math.min(1, cachedInput / input) - this.#cachedShare) * gain;
    this.#outputTokens += (output - this.#outputTokens) * gain;
  }
}
