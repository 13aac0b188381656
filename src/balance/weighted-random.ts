// Owns `random`: each target with a chance by its weight.
import type { Contender } from "./target-state.ts";

/** From 0 up to, not including, 1, as Math.random. */
export type RandomSource = () => number;

export function pickAtRandom(contenders: readonly Contender[], count: number, random: RandomSource): number {
  let total = 0;
  for (let at = 0; at < count; at++) total += (contenders[at] as Contender).weight;
  let left = random() * total;
  for (let at = 0; at < count - 1; at++) {
    const contender = contenders[at] as Contender;
    left -= contender.weight;
    if (left < 0) return contender.index;
  }
  // The last needs no comparison, and rounding cannot fall past it.
  return (contenders[count - 1] as Contender).index;
}
