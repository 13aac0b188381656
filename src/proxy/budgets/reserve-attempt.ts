// Reserves what a further attempt at a request may use, as a hedge or after an attempt that the provider may charge for: the same tokens and
// amounts of budgets as the first one. The client has made one request, so that limits of requests do not count it again.
import { isPromise, type ValueOrPromise } from "../../base/value-or-promise.ts";
import type { Refusal, Reservation } from "../../ledger/ledger.ts";
import type { LimitClaim } from "../../sdk/index.ts";
import type { AttemptFacts } from "../../telemetry/requests/request-facts.ts";
import type { Exchange } from "../exchange.ts";
import { isChargedFailure } from "./charged-failure.ts";
import type { Reservations } from "./reservations.ts";
import { reservationsIn, reservedClaims, type PlannedClaim, type ReservedClaims } from "./reserved-claims.ts";

/** Returns null if there is nothing to reserve, and the name of the limit or budget that has not enough left for it. */
export function reserveAttempt(
  exchange: Exchange,
  reservations: Reservations,
): ValueOrPromise<ReservedClaims | string | null> {
  const { reserved } = exchange;
  if (reserved === null) return null;
  const limits = reserved.limits.filter(({ kind }) => kind === "tokens");
  const budgets = budgetsOf(reserved);
  if (limits.length + budgets.length === 0) return null;
  const keep = (decided: Reservation | Refusal) => keptClaims(limits, budgets, decided);
  const decided = reservations.reserve(exchange, [...limits, ...budgets]);
  return isPromise(decided) ? decided.then(keep) : keep(decided);
}

/**
 * Whether the request may be sent once more. Earlier attempts that the provider may charge for have used what was reserved for them, so that
 * the next one is reserved. A reservation that no attempt uses is released when the request has ended.
 */
export function mayRetry(exchange: Exchange, reservations: Reservations): ValueOrPromise<boolean> {
  const { reserved, handshake, attemptFacts } = exchange;
  // A handshake runs no model.
  if (reserved === null || handshake !== null) return true;
  if (attemptFacts.filter(mayBeCharged).length < reservationsIn(reserved).length) return true;
  const decided = reserveAttempt(exchange, reservations);
  return isPromise(decided)
    ? decided.then((claims) => keepForRetry(exchange, claims))
    : keepForRetry(exchange, decided);
}

function keepForRetry(exchange: Exchange, claims: ReservedClaims | string | null): boolean {
  if (typeof claims === "string") {
    const failed = exchange.attemptFacts.at(-1);
    if (failed !== undefined) failed.retryRefusedBy = claims;
    return false;
  }
  if (claims === null) return true;
  const last = exchange.reserved === null ? undefined : reservationsIn(exchange.reserved).at(-1);
  // The request has ended while the ledger was asked.
  if (exchange.finished || last === undefined) {
    claims.reservation.release();
    return false;
  }
  last.next = claims;
  return true;
}

/** A successful response is charged if it is replaced as well as if it is relayed. A hedge has a reservation of its own. */
function mayBeCharged(facts: AttemptFacts): boolean {
  if (facts.purpose === "hedge") return false;
  return facts.fault === null ? facts.status !== null && facts.status < 400 : isChargedFailure(facts);
}

function keptClaims(
  limits: readonly LimitClaim[],
  budgets: readonly PlannedClaim[],
  decided: Reservation | Refusal,
): ReservedClaims | string {
  if (!decided.reserved) return [...limits, ...budgets][decided.refusedBy]?.type ?? "";
  return reservedClaims(decided, limits, budgets);
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
