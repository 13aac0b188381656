// Owns `lowest-latency`: the lowest moving average of the time to first byte, and when a target that lost is
// measured again.
import { pickInTurn } from "./smooth-round-robin.ts";
import type { Contender } from "./target-state.ts";

// A target that lost is asked no more, so its average would stand for ever. It is asked again when idle this long ...
export const REFRESH_AFTER_MS = 10_000;

// ... but by one request in so many at most: with little traffic every target is idle that long.
export const REFRESH_EVERY_PICKS = 20;

/** How long ago, in picks, an upstream last spent a request on measuring again. */
export class RefreshPace {
  picks = 0;

  copy(): RefreshPace {
    const copy = new RefreshPace();
    copy.picks = this.picks;
    return copy;
  }
}

/** Reorders `contenders`: those level with the best are moved to the front. */
export function pickFastest(contenders: Contender[], count: number, pace: RefreshPace, now: number): number {
  pace.picks++;
  let level = 0;
  let lowest = Infinity;
  let idlest = contenders[0] as Contender;
  for (let at = 0; at < count; at++) {
    const contender = contenders[at] as Contender;
    const { averageMs, lastStartAt } = contender.state.latency;
    // Never asked goes first. Asked but not measured (still waiting, or it failed) does not: a newcomer that hangs
    // or refuses would draw all the traffic.
    if (lastStartAt === -Infinity) return contender.index;
    if (lastStartAt < idlest.state.latency.lastStartAt) idlest = contender;
    if (averageMs > lowest) continue;
    if (averageMs < lowest) {
      level = 0;
      lowest = averageMs;
    }
    contenders[level++] = contender;
  }
  const isIdle = now - idlest.state.latency.lastStartAt >= REFRESH_AFTER_MS;
  if (isIdle && pace.picks >= REFRESH_EVERY_PICKS) {
    pace.picks = 0;
    return idlest.index;
  }
  return level === 1 ? (contenders[0] as Contender).index : pickInTurn(contenders, level);
}
