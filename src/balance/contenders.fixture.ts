// Contenders for tests, with ids t0, t1, … and separate state.
import { type Contender, TargetState } from "./target-state.ts";

export function contendersOf(weights: readonly number[]): Contender[] {
  return weights.map((weight, index) => ({
    index,
    weight,
    priority: 0,
    state: new TargetState(`t${index}`),
  }));
}

/** A seeded random number generator (mulberry32), so that statistical tests are deterministic. */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}
