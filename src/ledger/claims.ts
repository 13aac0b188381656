// Checks of claims that do not depend on where the ledger is.
import {
  MAX_AMOUNT,
  type Claim,
  type ClaimState,
  type Forecast,
  type Refusal,
  type UnavailablePolicy,
} from "./ledger.ts";
import { MAX_EXACT_REQUESTS } from "./window.ts";

/** Wait reported by `closed`. Short, because the connection to Redis is retried several times per second. */
const CLOSED_WAIT_MS = 1000;

export function isAmount(value: number | undefined): value is number {
  return Number.isSafeInteger(value) && (value ?? -1) >= 0;
}

/** Returns the amount that a claim reserves. Throws a RangeError if the claim is invalid. */
export function amountOf(claim: Claim): number {
  const amount = claim.kind === "requests" ? (claim.amount ?? 1) : claim.amount;
  if (!isAmount(amount) || !isAmount(claim.limit))
    throw new RangeError(
      `Amount ${amount} and limit ${claim.limit} of a claim must be integers from 0 to ${MAX_AMOUNT}.`,
    );
  return amount;
}

/** Returns what to charge for a claim: the actual amount, or the reserved one if the actual one is invalid. */
export function chargeOf(claim: Claim, actual: number | undefined): number {
  return isAmount(actual) ? actual : amountOf(claim);
}

/** Whether each request of this limit is counted at its own time. */
export function isExact(claim: Claim): boolean {
  return claim.kind === "requests" && claim.limit <= MAX_EXACT_REQUESTS;
}

/** Nothing to reserve always fits, even if settlements have exceeded the limit. */
export function isFitting(claim: Claim, amount: number, used: number): boolean {
  return amount <= claim.limit - used || amount === 0 || (claim.kind === "budget" && !claim.enforced);
}

/** Returns what decides about a claim while the shared ledger is unavailable. */
export function policyOf({ onUnavailable }: Claim, policy: UnavailablePolicy): UnavailablePolicy {
  return onUnavailable ?? policy;
}

/** Whether the claims are refused while the shared ledger is unavailable. */
export function isClosed(claims: readonly Claim[], policy: UnavailablePolicy): boolean {
  return claims.some((claim) => policyOf(claim, policy) === "closed");
}

/** Returns the decision of the policies that do not reserve. `refusedBy` is the claim whose policy is `closed`. */
export function forecastUnreserved(
  claims: readonly Claim[],
  policy: "open" | "closed",
  unixMs: number,
  refusedBy = -1,
): Forecast {
  const fits = policy === "open";
  const states = claims.map((claim): ClaimState => {
    const endsAt = claim.kind === "budget" ? claim.endsAt : unixMs + claim.windowMs;
    return {
      used: fits ? 0 : claim.limit,
      remaining: fits ? claim.limit : 0,
      resetAt: secondsOf(endsAt),
      waitMs: fits ? 0 : CLOSED_WAIT_MS,
      isUnknown: true,
    };
  });
  return { fits, refusedBy, states, source: policy };
}

/** Returns the Unix time in seconds, rounded up. */
export function secondsOf(unixMs: number | null): number | null {
  return unixMs === null ? null : Math.ceil(unixMs / 1000);
}

export function refusalOf({ refusedBy, states, source }: Forecast): Refusal {
  return { reserved: false, refusedBy, states, source };
}

/** Returns the index of the first budget that is refused while the journal is not loaded, or -1. */
export function closedBudgetIn(claims: readonly Claim[], policy: UnavailablePolicy): number {
  return claims.findIndex((claim) => claim.kind === "budget" && policyOf(claim, policy) === "closed");
}
