// Reserves what the second attempt of a hedged request may use: the same tokens and amounts of budgets as the first one. The client
// has made one request, so that limits of requests do not count it again.
import { isPromise, type ValueOrPromise } from "../../base/value-or-promise.ts";
import type { Refusal, Reservation } from "../../ledger/ledger.ts";
import type { LimitClaim } from "../../sdk/index.ts";
import type { Reservations } from "../budgets/reservations.ts";
import type { PlannedClaim, ReservedClaims } from "../budgets/reserved-claims.ts";
import type { Exchange } from "../exchange.ts";

/** Returns null if there is nothing to reserve. */
export function reserveHedge(
  exchange: Exchange,
  reservations: Reservations,
): ValueOrPromise<ReservedClaims | "refused" | null> {
  const { reserved } = exchange;
  if (reserved === null) return null;
  const limits = reserved.limits.filter(({ kind }) => kind === "tokens");
  const budgets = budgetsOf(reserved);
  if (limits.length + budgets.length === 0) return null;
  const keep = (decided: Reservation | Refusal) => keptClaims(limits, budgets, decided);
  const decided = reservations.reserve(exchange, [...limits, ...budgets]);
  return isPromise(decided) ? decided.then(keep) : keep(decided);
}

function keptClaims(
  limits: readonly LimitClaim[],
  budgets: readonly PlannedClaim[],
  decided: Reservation | Refusal,
): ReservedClaims | "refused" {
  if (!decided.reserved) return "refused";
  return { reservation: decided, limits, budgets, plannedFor: null, added: null };
}

/** The ledger accepts a key once per call, so that claims that were reserved one after the other become one. */
function budgetsOf({ budgets, added }: ReservedClaims): PlannedClaim[] {
  const byKey = new Map<string, PlannedClaim>();
  for (const claim of [...budgets, ...(added?.budgets ?? [])]) {
    const first = byKey.get(claim.key);
    byKey.set(claim.key, first === undefined ? claim : { ...first, amount: first.amount + claim.amount });
  }
  return [...byKey.values()];
}
