// Owns `least-connections`: the fewest requests in flight per weight; those level with each other take turns.
import { pickInTurn } from "./smooth-round-robin.ts";
import type { Contender } from "./target-state.ts";

/** Reorders `contenders`: those level with the best are moved to the front. */
export function pickLeastBusy(contenders: Contender[], count: number): number {
  let level = 0;
  let best = contenders[0] as Contender;
  for (let at = 0; at < count; at++) {
    const contender = contenders[at] as Contender;
    // inFlight / weight compared crosswise, which is exact for whole numbers.
    const mine = contender.state.inFlight * best.weight;
    const bests = best.state.inFlight * contender.weight;
    if (mine > bests) continue;
    if (mine < bests) {
      level = 0;
      best = contender;
    }
    contenders[level++] = contender;
  }
  return level === 1 ? best.index : pickInTurn(contenders, level);
}
