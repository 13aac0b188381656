// What a request has reserved of the limits of plugins and of the budgets of its gateway.
import type { BudgetClaim, Reservation } from "../../ledger/ledger.ts";
import type { LimitClaim } from "../../sdk/index.ts";
import type { CompiledBudget } from "../../snapshot/compiled-budget.ts";
import type { RequestBody } from "../request-body.ts";

/** The claim of a request on one budget, or on that of one subject if every subject has its own. */
export interface PlannedClaim extends BudgetClaim {
  readonly budget: CompiledBudget;
  readonly subject: string;
  /** The only model that it counts, if every model has its own budget; null for all models of the budget. */
  readonly model: string | null;
  /** The amount of a claim on the same budget that was reserved before, which is charged with what was used, and which this one adds to. */
  readonly addsTo?: number;
}

export interface ReservedClaims {
  readonly reservation: Reservation;
  /** The claims of plugins. They come first in the reservation. */
  readonly limits: readonly LimitClaim[];
  /** The claims on budgets. */
  readonly budgets: readonly PlannedClaim[];
  /** The request that the budgets were planned for; null if they were not. */
  readonly plannedFor: PlannedRequest | null;
  /** What was reserved in addition because plugins have changed the request afterwards; null if nothing. */
  added: ReservedClaims | null;
  /** The reservation of the next attempt, after one that the provider may charge for; null if there is none. */
  next: ReservedClaims | null;
}

/** Returns claims that were reserved together. */
export function reservedClaims(
  reservation: Reservation,
  limits: readonly LimitClaim[],
  budgets: readonly PlannedClaim[],
  plannedFor: PlannedRequest | null = null,
): ReservedClaims {
  return { reservation, limits, budgets, plannedFor, added: null, next: null };
}

/** Returns the reservations of the attempts at a request, from the first one. */
export function reservationsIn(first: ReservedClaims): ReservedClaims[] {
  const all = [first];
  for (let { next } = first; next !== null; { next } = next) all.push(next);
  return all;
}

/** What a plan depends on and plugins may change. */
export interface PlannedRequest {
  readonly body: RequestBody | null;
  readonly path: string;
}

/** What one attempt used. Amounts are NaN if they are not known: charged as reserved. */
export interface Charge {
  readonly model: string | null;
  readonly nanos: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** The response was cut, and what the provider generated is not known: at least what was reserved is charged. */
  readonly isPartial: boolean;
}

/** Whether the claim counts a response of this model. */
export function countsModel(
  { budget, model }: Pick<PlannedClaim, "budget" | "model">,
  sent: string | null,
): boolean {
  if (model !== null) return model === (sent ?? "");
  return budget.models === null || (sent !== null && budget.models.allows(sent));
}
