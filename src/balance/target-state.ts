// The state of one target between requests. It belongs to the target's id, not to a configuration: all plans with the
// target share one object.
import { LatencyAverage } from "./latency-average.ts";
import { PassiveHealth } from "./passive-health.ts";
import { TokenAverages } from "./token-averages.ts";
import { hashText } from "./text-hash.ts";

export class TargetState {
  readonly id: string;
  /** For rendezvous hashing. Derived from the id, so that it is the same after a restart and on all nodes. */
  readonly hash: number;
  readonly health: PassiveHealth;
  readonly latency: LatencyAverage;
  /** Of virtual models only. */
  readonly tokens: TokenAverages;
  inFlight = 0;
  /** Consecutive failures, with or without passive health checks; an ejection does not reset it. Null before the first result. */
  failuresInRow: number | null = null;
  /** Number of ejections. */
  ejections = 0;
  /** End of the rest that a 429 with Retry-After asked for. */
  restUntil = -Infinity;
  /** Smooth round robin: requests that this target is due (negative: it got too many). */
  credit = 0;

  constructor(
    id: string,
    health = new PassiveHealth(),
    latency = new LatencyAverage(),
    tokens = new TokenAverages(),
  ) {
    this.id = id;
    this.hash = hashText(id);
    this.health = health;
    this.latency = latency;
    this.tokens = tokens;
  }

  copy(): TargetState {
    const copy = new TargetState(this.id, this.health.copy(), this.latency.copy(), this.tokens);
    copy.inFlight = this.inFlight;
    copy.failuresInRow = this.failuresInRow;
    copy.restUntil = this.restUntil;
    copy.credit = this.credit;
    return copy;
  }
}

/** A target in one plan: its configuration and the shared state. */
export interface Contender {
  readonly index: number;
  readonly weight: number;
  readonly priority: number;
  readonly state: TargetState;
}
