// `lowest-latency`: the target with the lowest moving average of the time to first byte. Decides when slower targets are
// measured again.
import { pickRoundRobin } from "./smooth-round-robin.ts";
import type { Contender } from "./target-state.ts";

/** A slower target gets no requests, so that its average would never change. It is measured again when idle this long … */
export const REMEASURE_AFTER_MS = 10_000;

/** … but at most with one in this many requests: with little traffic, every target is idle that long. */
export const REMEASURE_EVERY_PICKS = 20;

/** The number of picks since an upstream last measured a slower target. */
export class RemeasurePace {
  picks = 0;

  copy(): RemeasurePace {
    const copy = new RemeasurePace();
    copy.picks = this.picks;
    return copy;
  }
}

/** Shortens `contenders` to those tied for the lowest average. */
export function pickLowestLatency(contenders: Contender[], pace: RemeasurePace, now: number): number {
  pace.picks++;
  let ties = 0;
  let lowestMs = Infinity;
  let idlest: Contender | null = null;
  let idleSince = Infinity;
  for (const contender of contenders) {
    const { averageMs, lastStartAt } = contender.state.latency;
    // A target without any request goes first. One with a request that has no result yet (pending or failed) does not:
    // a new target that hangs or fails would get all traffic.
    if (lastStartAt === -Infinity) return contender.index;
    if (lastStartAt < idleSince) {
      idlest = contender;
      idleSince = lastStartAt;
    }
    if (averageMs > lowestMs) continue;
    if (averageMs < lowestMs) {
      ties = 0;
      lowestMs = averageMs;
    }
    contenders[ties++] = contender;
  }
  if (idlest !== null && now - idleSince >= REMEASURE_AFTER_MS && pace.picks >= REMEASURE_EVERY_PICKS) {
    pace.picks = 0;
    return idlest.index;
  }
  contenders.length = ties;
  return pickRoundRobin(contenders);
}
