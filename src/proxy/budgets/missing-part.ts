// What a changed request needs of a budget beyond its reservation.
import type { PlannedClaim } from "./reserved-claims.ts";

/**
 * Returns the claim that a changed request needs in addition to those that are reserved. The request belongs
 * to the period of its first claim, although that may have ended meanwhile.
 */
export function missingPart(claim: PlannedClaim, reserved: readonly PlannedClaim[]): PlannedClaim[] {
  const known = reserved.find(({ key }) => key === claim.key);
  if (known === undefined) return [claim];
  const { period, endsAt, amount: addsTo } = known;
  return claim.amount > addsTo ? [{ ...claim, period, endsAt, amount: claim.amount - addsTo, addsTo }] : [];
}
