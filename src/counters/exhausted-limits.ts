// Owns what Redis last said about limits without room, for the time when it cannot be asked.
import type { Limit, LimitState } from "./counters.ts";

interface Full {
  readonly until: number;
  readonly resetAt: number;
  readonly limit: number;
  readonly windowMs: number;
}

/** A node remembers this many; beyond it the one that was named longest ago is forgotten. */
const MAX_KNOWN = 10_000;

/**
 * A limit that Redis called full stays full until the moment it named: requests only ever leave the log by then. So a
 * client who has used a shared limit up is not given this node's own one as well, however short Redis's absence.
 */
export class ExhaustedLimits {
  readonly #known = new Map<string, Full>();

  learn({ key, limit, windowMs }: Limit, { waitMs, resetAt }: LimitState, now: number): void {
    this.#known.delete(key);
    this.#known.set(key, { until: now + waitMs, resetAt, limit, windowMs });
    if (this.#known.size <= MAX_KNOWN) return;
    for (const oldest of this.#known.keys()) {
      this.#known.delete(oldest);
      break;
    }
  }

  forget(key: string): void {
    this.#known.delete(key);
  }

  /** Where a limit stands that is known to be full, or null. A limit that was edited since is not known. */
  look({ key, limit, windowMs }: Limit, now: number): LimitState | null {
    const full = this.#known.get(key);
    if (full === undefined) return null;
    if (full.until > now && full.limit === limit && full.windowMs === windowMs)
      return { remaining: 0, resetAt: full.resetAt, waitMs: Math.ceil(full.until - now) };
    this.#known.delete(key);
    return null;
  }
}
