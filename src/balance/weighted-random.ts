// `random`: each target with a probability proportional to its weight.
import type { Contender } from "./target-state.ts";

/** Returns a number from 0 (inclusive) to 1 (exclusive), as Math.random does. */
export type RandomSource = () => number;

/** Returns the index of a contender, -1 if there is none. */
export function pickRandom(contenders: readonly Contender[], random: RandomSource): number {
  let total = 0;
  for (const { weight } of contenders) total += weight;
  let remaining = random() * total;
  let index = -1;
  for (const contender of contenders) {
    ({ index } = contender);
    remaining -= contender.weight;
    if (remaining < 0) break;
  }
  // Because of rounding, the loop may end without the break; then the last target is picked.
  return index;
}
