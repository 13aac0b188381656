// Owns the vocabulary of the window counters: a limit, a decision, and the one interface that memory.ts and redis.ts share.

export interface Limit {
  /** Opaque; unique per gateway, plugin entry, type and subject. Of any length: it is kept as a digest of 128 bits. */
  readonly key: string;
  /** Requests that may be counted in the window; a whole number. */
  readonly limit: number;
  readonly windowMs: number;
  /** What it is called where limits are explained, as `per_ip`; nothing is decided by it. */
  readonly type?: string;
}

export interface LimitState {
  /** What is left of the limit; this request is already taken off when it was admitted. */
  readonly remaining: number;
  /** Unix seconds, rounded up, at which the oldest counted request leaves the window; now + window when none is counted. */
  readonly resetAt: number;
  /** Whole milliseconds until this limit has room for one request; 0 when it has. */
  readonly waitMs: number;
}

/** Who decided. `local`: Redis is away and this node's own log decided. `open`, `closed`: nobody counted. */
export type DecisionSource = "memory" | "redis" | "local" | "open" | "closed";

export interface Decision {
  readonly admitted: boolean;
  /** Index of the first limit without room; -1 when admitted, and when the source is `closed`. */
  readonly refusedBy: number;
  /** One for each limit, in their order. */
  readonly states: readonly LimitState[];
  readonly source: DecisionSource;
}

/** Who decides while Redis is away: this node's own log, or nobody, letting requests through or refusing them. */
export type UnavailablePolicy = "local" | "open" | "closed";

/** The same shape as a dependency in /readyz. `none`: nothing is shared, this process counts for itself. */
export interface CountersState {
  readonly state: "ok" | "away" | "none";
  readonly detail?: string;
}

export interface Counters {
  /**
   * All limits at once, all or nothing: admitted when every limit has room, and then counted in each; a refused request
   * is counted nowhere. The keys of one call differ. Never throws and never rejects.
   */
  admit(limits: readonly Limit[], policy: UnavailablePolicy): Decision | Promise<Decision>;
  /** The decision that `admit` would come to now, word for word, with nothing counted. Never throws and never rejects. */
  peek(limits: readonly Limit[], policy: UnavailablePolicy): Decision | Promise<Decision>;
  /** Forgets what a key has counted. */
  clear(key: string): void | Promise<void>;
  readonly state: CountersState;
  close(): Promise<void>;
}

/** How long a caller refused by `closed` should stay away: Redis is looked for several times a second. */
const CLOSED_WAIT_MS = 1000;

/** The decision of the policies that count nothing. */
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
