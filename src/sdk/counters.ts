// Counters of requests that a plugin uses by itself, inside its hooks. Limits of requests are better declared with the `claims` hook,
// which reserves them together with those of all other plugins.

export interface Limit {
  /** Unique per gateway, plugin entry, type, and subject. Of any length. */
  readonly key: string;
  /** Requests allowed in the window; an integer. */
  readonly limit: number;
  readonly windowMs: number;
  /** The name of the limit in explanations, for example `per_ip`. Does not affect decisions. */
  readonly type?: string;
}

export interface LimitState {
  /** Requests that remain in the window. If the request was admitted, it is already subtracted. */
  readonly remaining: number;
  /** Unix time in seconds, rounded up, when the oldest counted request leaves the window; now + window if there is none. */
  readonly resetAt: number;
  /** Milliseconds until this limit allows one request; 0 if it does now. */
  readonly waitMs: number;
}

export interface Decision {
  readonly admitted: boolean;
  /** Index of the first exhausted limit; -1 if the request is admitted or the source is `closed`. */
  readonly refusedBy: number;
  /** One per limit, in the same order. */
  readonly states: readonly LimitState[];
  /** `local`: Redis is unavailable, and this process decided with what it knows. `open`, `closed`: not counted. */
  readonly source: "memory" | "redis" | "local" | "open" | "closed";
}

export interface Counters {
  /**
   * Checks all limits atomically. If every limit allows the request, it is counted in each; a rejected request is counted
   * in none. The keys of one call must differ. While Redis is unavailable, `policy` decides: count in this process (`local`), or admit
   * (`open`) or reject (`closed`) every request.
   */
  admit(limits: readonly Limit[], policy: "local" | "open" | "closed"): Decision | Promise<Decision>;
  /** Returns the decision that `admit` would return now, without counting. */
  peek(limits: readonly Limit[], policy: "local" | "open" | "closed"): Decision | Promise<Decision>;
  /**
   * Returns the rejection of these limits if this process knows without waiting that one is exhausted, else null. Counts
   * nothing.
   */
  knownRejection(limits: readonly Limit[]): Decision | null;
  /** Resets the counter of a key. */
  clear(key: string): void | Promise<void>;
}
