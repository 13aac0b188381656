// `ip-hash`: weighted rendezvous hashing. Every client has its own order of all targets, so that losing a target moves
// only the clients for which it was first, and they return to it later.
import type { Contender } from "./target-state.ts";

/** Block step and finalizer of Murmur3: similar addresses must not be mapped to similar values. */
function mix(client: number, target: number): number {
  let hash = Math.imul(client, 0xcc9e2d51);
  hash = (hash << 15) | (hash >>> 17);
  hash = Math.imul(hash, 0x1b873593) ^ target;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Returns a number above 0 and below 1, uniformly distributed over clients and over targets. */
export function uniformHash(client: number, target: number): number {
  return (mix(client, target) + 0.5) / 0x1_0000_0000;
}

/**
 * Exponentially distributed with the weight as rate: the lowest value wins with a probability proportional to the weight,
 * independently of the other targets.
 */
export function rendezvousRank(clientHash: number, targetHash: number, weight: number): number {
  return -Math.log(uniformHash(clientHash, targetHash)) / weight;
}

/** Returns the index of a contender, -1 if there is none. */
export function pickByHash(contenders: readonly Contender[], clientHash: number): number {
  let winner = -1;
  let lowest = Infinity;
  for (const contender of contenders) {
    const rank = rendezvousRank(clientHash, contender.state.hash, contender.weight);
    if (rank < lowest) {
      lowest = rank;
      winner = contender.index;
    }
  }
  return winner;
}
