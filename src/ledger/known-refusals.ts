// Remembers for a moment what Redis reported as exhausted, to reject requests before their body is read.
import { BoundedCache } from "../base/bounded-cache.ts";
import { secondsOf } from "./claims.ts";
import type { Claim, ClaimState, Refusal } from "./ledger.ts";

interface KnownState {
  readonly state: ClaimState;
  readonly limit: number;
  /** The window or the period. */
  readonly span: number | string;
  readonly recordedAt: number;
  readonly until: number;
}

const KEPT = 10_000;
/** Not longer: an operator may clear or adjust a budget on another node, and requests may be released, at any time. */
const KNOWN_MS = 1000;

export class KnownRefusals {
  readonly #states = new BoundedCache<string, KnownState>(KEPT);

  /** `fullMs`: how long not even an amount of 1 fits, whatever happens to open reservations. */
  record(claim: Claim, state: ClaimState, fullMs: number, now: number): void {
    const until = now + fullMs;
    this.#states.set(claim.key, { state, limit: claim.limit, span: spanOf(claim), recordedAt: now, until });
  }

  forget(key: string): void {
    this.#states.delete(key);
  }

  /** What Redis has reported within the last second. */
  refusalOf(claims: readonly Claim[], now: number, unixMs: number): Refusal | null {
    return this.#refusalOf(claims, now, unixMs, false);
  }

  /**
   * While Redis is unavailable, a window stays as full as Redis has reported it, so that a client that has used up a shared limit
   * does not get the local limit of this process in addition, however short the outage is.
   */
  refusalDuringOutage(claims: readonly Claim[], now: number, unixMs: number): Refusal | null {
    return this.#refusalOf(claims, now, unixMs, true);
  }

  #refusalOf(claims: readonly Claim[], now: number, unixMs: number, isOutage: boolean): Refusal | null {
    let refusedBy = -1;
    const states = claims.map((claim, at): ClaimState => {
      const known = this.#stateOf(claim, now, isOutage && claim.kind !== "budget");
      if (known !== null && refusedBy === -1) refusedBy = at;
      return known ?? unusedState(claim, unixMs);
    });
    return refusedBy === -1 ? null : { reserved: false, refusedBy, states, source: "local" };
  }

  #stateOf(claim: Claim, now: number, isKept: boolean): ClaimState | null {
    if (claim.kind === "budget" && !claim.enforced) return null;
    if (claim.kind !== "requests" && claim.amount === 0) return null;
    const known = this.#states.get(claim.key);
    if (known === undefined || known.limit !== claim.limit || known.span !== spanOf(claim)) return null;
    const { state, recordedAt, until } = known;
    if (now >= until || (!isKept && now >= recordedAt + KNOWN_MS)) return null;
    return { ...state, waitMs: Math.max(1, state.waitMs - Math.floor(now - recordedAt)) };
  }
}

function spanOf(claim: Claim): number | string {
  return claim.kind === "budget" ? claim.period : claim.windowMs;
}

function unusedState(claim: Claim, unixMs: number): ClaimState {
  const endsAt = claim.kind === "budget" ? claim.endsAt : unixMs + claim.windowMs;
  return { used: 0, remaining: claim.limit, resetAt: secondsOf(endsAt), waitMs: 0, isUnknown: true };
}
