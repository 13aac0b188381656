// `least-connections`: the target with the fewest requests in flight per weight. Ties are resolved by round robin.
import { pickRoundRobin } from "./smooth-round-robin.ts";
import type { Contender } from "./target-state.ts";

/** Shortens `contenders` to those tied for the lowest load. */
export function pickLeastConnections(contenders: Contender[]): number {
  let ties = 0;
  let best: Contender | null = null;
  for (const contender of contenders) {
    if (best !== null) {
      // Compares inFlight / weight by cross-multiplication, which is exact for integers.
      const load = contender.state.inFlight * best.weight;
      const lowest = best.state.inFlight * contender.weight;
      if (load > lowest) continue;
      if (load < lowest) ties = 0;
    }
    if (ties === 0) best = contender;
    contenders[ties++] = contender;
  }
  contenders.length = ties;
  return pickRoundRobin(contenders);
}
