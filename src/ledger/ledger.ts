// The terms of the ledger: claims on limits and budgets, reservations, and the interface of the ledgers in memory and on
// Redis. See docs/decisions/0096-ledger.md.

/**
 * The largest amount, limit and sum: 2^53 - 1, above which numbers are no longer exact. In nano-dollars these are 9,007,199
 * dollars. Larger amounts of a claim are rejected with a RangeError; sums stop there.
 */
export const MAX_AMOUNT = Number.MAX_SAFE_INTEGER;

/** How long the reservations of a process remain open after the process has ended. */
export const LEASE_MS = 30_000;

/** The window of a limit. */
export interface WindowTarget {
  readonly kind: "requests" | "tokens";
  /** Unique over all gateways. Of any length: Redis stores a digest of 128 bits. */
  readonly key: string;
}

/** One calendar period of a budget. */
export interface BudgetTarget {
  readonly kind: "budget";
  /** Unique over all gateways. Of any length. */
  readonly key: string;
  /** Identifies the period, for example `2026-11` or `total`. Every period starts with nothing spent. */
  readonly period: string;
  /** Unix milliseconds of the end of the period; null if it does not end. The ledger never compares it to decide. */
  readonly endsAt: number | null;
}

/** What all claims have in common. */
interface ClaimOptions {
  /** The name of the limit in explanations, for example `per_ip`. Does not affect decisions. */
  readonly type?: string;
  /** Instead of the policy of the call. */
  readonly onUnavailable?: UnavailablePolicy;
}

/**
 * Requests in a sliding window. They are counted when they are reserved; `settle` keeps them, `release`
 * removes them.
 */
export interface RequestsClaim extends WindowTarget, ClaimOptions {
  readonly kind: "requests";
  /** Requests allowed in any window; an integer. */
  readonly limit: number;
  readonly windowMs: number;
  /** The number of requests: 1 by default. All of them are counted, or none. */
  readonly amount?: number;
}

/**
 * An amount in a sliding window. It is counted while it is reserved, however long that takes, and from then on as settled
 * at the time of settlement. Therefore no trailing window ever holds more than `limit` settled tokens, except for what
 * settlements exceeded their reservations.
 */
export interface TokensClaim extends WindowTarget, ClaimOptions {
  readonly kind: "tokens";
  readonly limit: number;
  readonly windowMs: number;
  /** The amount to reserve: an integer from 0 to MAX_AMOUNT. */
  readonly amount: number;
}

/** An amount of a budget, in nano-dollars or tokens. */
export interface BudgetClaim extends BudgetTarget, ClaimOptions {
  /** The amount of the budget in the period. */
  readonly limit: number;
  /** The amount to reserve: an integer from 0 to MAX_AMOUNT. */
  readonly amount: number;
  /** False for a budget that only warns: it is charged and never refuses. */
  readonly enforced: boolean;
}

export type Claim = RequestsClaim | TokensClaim | BudgetClaim;

export interface ClaimState {
  /** Settled (in the window or period) and reserved amounts together. Includes this claim if it was reserved. */
  readonly used: number;
  /** `limit` - `used`, at least 0. */
  readonly remaining: number;
  /**
   * Unix time in seconds, rounded up: when the oldest settled amount leaves the window (now + window if there is none), or the
   * end of the period. Null for a budget whose period does not end.
   */
  readonly resetAt: number | null;
  /**
   * 0 if this claim fits. Else the shortest time in milliseconds after which it can fit, at least 1: open reservations count as
   * released, because they may be settled with less at any time. Infinity if it never fits: the amount is larger than the limit,
   * or the period does not end.
   */
  readonly waitMs: number;
  /** The ledger was not consulted: the amounts are placeholders, with nothing or everything used, and not those of this limit. */
  readonly isUnknown?: true;
}

/**
 * `local`: the shared ledger is unavailable, and this process decided with what it knows. `open`, `closed`: not reserved.
 */
export type LedgerSource = "memory" | "redis" | "local" | "open" | "closed";

/** While the shared ledger is unavailable: reserve in this process (`local`), or admit (`open`) or reject (`closed`). */
export type UnavailablePolicy = "local" | "open" | "closed";

export interface Refusal {
  readonly reserved: false;
  /** Index of the first claim that does not fit or, if the source is `closed`, of the first one with this policy. */
  readonly refusedBy: number;
  /** One per claim, in the same order. */
  readonly states: readonly ClaimState[];
  readonly source: LedgerSource;
}

/**
 * An open reservation. Exactly one call of `settle` or `release` takes effect; all others do nothing. It is open until then:
 * the ledger renews it. If the process dies, it is charged as reserved after LEASE_MS.
 */
export interface Reservation {
  readonly reserved: true;
  readonly states: readonly ClaimState[];
  readonly source: LedgerSource;
  /** Whether neither `settle` nor `release` has been called. */
  readonly isOpen: boolean;
  /**
   * Replaces the reserved amounts with the actual ones, one per claim in the same order, which may be larger. Those of
   * `requests` are ignored. An amount that is not an integer from 0 to MAX_AMOUNT is charged as reserved. Does not wait.
   */
  settle(actualAmounts: readonly number[]): void;
  /** Returns everything that was reserved, as if the request had not been made. Does not wait. */
  release(): void;
}

/** What `reserve` would decide now. */
export interface Forecast {
  /** Index of the first claim that does not fit, or whose policy is `closed`; -1 if there is none. */
  readonly refusedBy: number;
  readonly fits: boolean;
  /** As if reserved, if all claims fit. */
  readonly states: readonly ClaimState[];
  readonly source: LedgerSource;
}

export interface BudgetAmounts {
  readonly spent: number;
  /** The sum of open reservations. */
  readonly reserved: number;
}

/** The state of the dependency in /readyz. `none`: the ledger is not shared with other processes. */
export interface LedgerState {
  readonly state: "ok" | "away" | "none";
  readonly detail?: string;
}

/** The shared ledger is unavailable, and the operation is one that cannot be done without it. */
export class LedgerUnavailable extends Error {
  override readonly name = "LedgerUnavailable";
}

/** `gatewayId` decides where Redis Cluster stores the keys. All claims of one call belong to one gateway. */
export interface Ledger {
  /**
   * Reserves all claims in one atomic step, or none of them. The keys of one call must differ. While the shared ledger is unavailable,
   * `policy` decides about claims without a policy of their own: one that is `closed` rejects the request. Throws a RangeError for an invalid
   * limit or amount; otherwise never throws or rejects.
   */
  reserve(
    gatewayId: string,
    claims: readonly Claim[],
    policy: UnavailablePolicy,
  ): Reservation | Refusal | Promise<Reservation | Refusal>;
  /** Returns what `reserve` would decide now, without reserving. Never rejects. */
  peek(gatewayId: string, claims: readonly Claim[], policy: UnavailablePolicy): Forecast | Promise<Forecast>;
  /** Decides as if the shared store were unavailable. Absent if there is none. */
  reserveUnavailable?(
    gatewayId: string,
    claims: readonly Claim[],
    policy: UnavailablePolicy,
  ): Reservation | Refusal;
  /**
   * Returns the refusal of these claims if this process knows without waiting that one does not fit, else null. Changes nothing.
   * Use an amount of 1 if the amount is not known yet. A ledger on Redis knows what Redis has reported within the last second.
   */
  knownRefusal(claims: readonly Claim[]): Refusal | null;
  /** Drops the settled amounts of a window or a budget; open reservations stay. May reject with LedgerUnavailable. */
  clear(gatewayId: string, target: WindowTarget | BudgetTarget): void | Promise<void>;
  /**
   * Adds `amount` (negative to subtract) to what a budget has spent, which does not go below 0. Returns the amounts afterwards. May
   * reject with LedgerUnavailable.
   */
  adjust(gatewayId: string, budget: BudgetTarget, amount: number): BudgetAmounts | Promise<BudgetAmounts>;
  /** Returns the amounts of each budget. May reject with LedgerUnavailable. */
  read(
    gatewayId: string,
    budgets: readonly BudgetTarget[],
  ): readonly BudgetAmounts[] | Promise<readonly BudgetAmounts[]>;
  /**
   * Resolves when the amounts of these budgets include what other processes have written. Absent if they always do. Never rejects.
   */
  refresh?(gatewayId: string, budgets: readonly BudgetTarget[]): Promise<void>;
  readonly state: LedgerState;
  /** Writes what has not been written yet. Reservations that are still open are charged as reserved. */
  close(): Promise<void>;
}
