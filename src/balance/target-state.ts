// Owns what is remembered of one target between requests. It belongs to the target's id, not to a configuration:
// every plan that names the target shares the one object.
import { LatencyAverage } from "./latency-average.ts";
import { PassiveHealth } from "./passive-health.ts";
import { hashText } from "./text-hash.ts";

export class TargetState {
  readonly id: string;
  /** Where the target stands in rendezvous hashing; from the id, so that it survives restarts and is equal on all nodes. */
  readonly hash: number;
  readonly health: PassiveHealth;
  readonly latency: LatencyAverage;
  inFlight = 0;
  /** How often it was taken out. */
  ejections = 0;
  restUntil = -Infinity;
  /** Smooth round robin: the requests this target is owed (negative: had too many). */
  credit = 0;

  constructor(id: string, health = new PassiveHealth(), latency = new LatencyAverage()) {
    this.id = id;
    this.hash = hashText(id);
    this.health = health;
    this.latency = latency;
  }

  copy(): TargetState {
    const copy = new TargetState(this.id, this.health.copy(), this.latency.copy());
    copy.inFlight = this.inFlight;
    copy.restUntil = this.restUntil;
    copy.credit = this.credit;
    return copy;
  }
}

/** A target as one plan sees it: the configured numbers beside the shared state. */
export interface Contender {
  readonly index: number;
  readonly weight: number;
  readonly priority: number;
  readonly state: TargetState;
}
