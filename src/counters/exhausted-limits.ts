// Remembers the limits that Redis reported as exhausted, for the time when Redis is unavailable.
import { BoundedCache } from "../base/bounded-cache.ts";
import type { Limit, LimitState } from "./counters.ts";

interface ExhaustedLimit {
  readonly until: number;
  readonly resetAt: number;
  readonly limit: number;
  readonly windowMs: number;
}

const KEPT_LIMITS = 10_000;

/**
 * A limit that Redis reported as exhausted stays exhausted until the time that Redis gave, because requests only leave
 * its window meanwhile. So a client that has used up a shared limit does not also get the local limit of this node while
 * Redis is unavailable, however briefly.
 */
export class ExhaustedLimits {
  readonly #limits = new BoundedCache<string, ExhaustedLimit>(KEPT_LIMITS);

  record({ key, limit, windowMs }: Limit, { waitMs, resetAt }: LimitState, now: number): void {
    this.#limits.set(key, { until: now + waitMs, resetAt, limit, windowMs });
  }

  forget(key: string): void {
    this.#limits.delete(key);
  }

  /** Returns the state of a limit known to be exhausted, or null. A limit that has been edited since is not known. */
  stateOf({ key, limit, windowMs }: Limit, now: number): LimitState | null {
    const exhausted = this.#limits.get(key);
    if (exhausted === undefined) return null;
    if (exhausted.until > now && exhausted.limit === limit && exhausted.windowMs === windowMs)
      return { remaining: 0, resetAt: exhausted.resetAt, waitMs: Math.ceil(exhausted.until - now) };
    this.#limits.delete(key);
    return null;
  }
}
