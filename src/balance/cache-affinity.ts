// `cache-affinity`: rendezvous hashing of conversations, bounded by load. Every conversation has its own order of all targets,
// equal on all nodes. It goes to the first one that does not have much more than its share of the requests in flight.
import { rendezvousRank } from "./rendezvous-hash.ts";

export interface AffinityTarget {
  readonly hash: number;
  readonly weight: number;
  /** Of this node. */
  readonly inFlight: number;
}

/** A target may have this many times its share of the requests in flight. */
const MAX_LOAD = 1.25;
/** A target with fewer requests in flight is never too busy: the shares of few requests differ by chance. */
const IGNORED_BELOW = 8;

/** Returns the index in `targets`; -1 if no target has a weight. */
export function pickByAffinity(targets: readonly AffinityTarget[], conversationHash: number): number {
  let total = 1;
  let weights = 0;
  for (const { inFlight, weight } of targets) {
    if (weight <= 0) continue;
    total += inFlight;
    weights += weight;
  }
  let winner = -1;
  let lowest = Infinity;
  for (const [index, { hash, weight, inFlight }] of targets.entries()) {
    if (weight <= 0) continue;
    if (inFlight >= IGNORED_BELOW && inFlight + 1 > (MAX_LOAD * total * weight) / weights) continue;
    const rank = rendezvousRank(conversationHash, hash, weight);
    if (rank < lowest) {
      lowest = rank;
      winner = index;
    }
  }
  return winner;
}
