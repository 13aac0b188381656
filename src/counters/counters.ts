// The terms of rate-limit counters: a limit, a decision, and the interface of the counters in memory and in Redis.

export interface Limit {
  /** Unique per gateway, plugin entry, type, and subject. Of any length: counters store a digest of 128 bits. */
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

/** `local`: Redis is unavailable, and this process decided with its own counters. `open`, `closed`: not counted. */
type DecisionSource = "memory" | "redis" | "local" | "open" | "closed";

export interface Decision {
  readonly admitted: boolean;
  /** Index of the first exhausted limit; -1 if the request is admitted or the source is `closed`. */
  readonly refusedBy: number;
  /** One per limit, in the same order. */
  readonly states: readonly LimitState[];
  readonly source: DecisionSource;
}

/** While Redis is unavailable: count in this process (`local`), or admit (`open`) or reject (`closed`) every request. */
export type UnavailablePolicy = "local" | "open" | "closed";

/** The state of the dependency in /readyz. `none`: counters are not shared with other processes. */
export interface CountersState {
  readonly state: "ok" | "away" | "none";
  readonly detail?: string;
}

export interface Counters {
  /**
   * Checks all limits atomically. If every limit allows the request, it is counted in each; a rejected request is counted
   * in none. The keys of one call must differ. Never throws or rejects.
   */
  admit(limits: readonly Limit[], policy: UnavailablePolicy): Decision | Promise<Decision>;
  /** Returns the decision that `admit` would return now, without counting. Never throws or rejects. */
  peek(limits: readonly Limit[], policy: UnavailablePolicy): Decision | Promise<Decision>;
  /**
   * Returns the rejection of these limits if this process knows without waiting that one is exhausted, else null. Counts
   * nothing. Counters in Redis know what Redis has reported before.
   */
  knownRejection(limits: readonly Limit[]): Decision | null;
  /** Resets the counter of a key. */
  clear(key: string): void | Promise<void>;
  readonly state: CountersState;
  close(): Promise<void>;
}

/** The counters of all gateways. Where Redis stores a counter depends on the gateway, so that a cluster spreads them. */
export interface CountersByGateway {
  forGateway(gatewayId: string): Counters;
  readonly state: CountersState;
  close(): Promise<void>;
}

/** Wait reported by `closed`. Short, because the connection to Redis is retried several times per second. */
const CLOSED_WAIT_MS = 1000;

/** Returns the decision of the policies that do not count. */
export function decideUncounted(
  limits: readonly Limit[],
  policy: "open" | "closed",
  wallMs: number,
): Decision {
  const admitted = policy === "open";
  const states = limits.map(({ limit, windowMs }) => ({
    remaining: admitted ? limit : 0,
    resetAt: Math.ceil((wallMs + windowMs) / 1000),
    waitMs: admitted ? 0 : CLOSED_WAIT_MS,
  }));
  return { admitted, refusedBy: -1, states, source: policy };
}
