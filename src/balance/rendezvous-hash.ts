// Owns `ip-hash`: weighted rendezvous hashing. Every client ranks all targets in an order of its own, so losing a
// target moves only the clients that had it first, and they come back when it does.
import type { Contender } from "./target-state.ts";

/** Murmur3's block step and finaliser: neighbouring addresses must not land on neighbouring targets. */
function mix(client: number, target: number): number {
  let hash = Math.imul(client, 0xcc9e2d51);
  hash = (hash << 15) | (hash >>> 17);
  hash = Math.imul(hash, 0x1b873593) ^ target;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

export function pickByHash(contenders: readonly Contender[], count: number, clientHash: number): number {
  let winner = -1;
  let shortest = Infinity;
  for (let at = 0; at < count; at++) {
    const contender = contenders[at] as Contender;
    const uniform = (mix(clientHash, contender.state.hash) + 0.5) / 0x1_0000_0000;
    // A race of exponential clocks: whose rings first is distributed by weight, independently of who else runs.
    const ringsAt = -Math.log(uniform) / contender.weight;
    if (ringsAt < shortest) {
      shortest = ringsAt;
      winner = contender.index;
    }
  }
  return winner;
}
