// What a request has reserved of limits and budgets that earlier requests of its API key have reserved, too.
import type { LineWriter } from "../../http/line-writer.ts";
import type { RememberedClaims, RepeatedReservation } from "../../ledger/repeated-claims.ts";
import type { TokensLimitClaim } from "../../sdk/index.ts";
import type { ReservedLimits } from "../response-headers.ts";
import { writeBudget, type RemainingBudgets } from "../remaining-budgets.ts";
import type { RequestBody } from "../request-body.ts";
import type { LimitFields, LimitNumbers } from "../token-limit-headers.ts";
import type { PlannedClaim, PlannedRequest, ReservedClaims } from "./reserved-claims.ts";

/** The claims that the requests repeat. Their amounts are those of the first request. */
export interface RepeatedPlan {
  readonly limits: readonly TokensLimitClaim[];
  readonly budgets: readonly PlannedClaim[];
  /** The limits, then the budgets. */
  readonly remembered: RememberedClaims;
  /** The header fields of the limits. No two names are the same. */
  readonly fields: readonly LimitFields[];
  /** The bits of all names. */
  readonly bits: number;
}

/** One object is all that the steps of a request need: the claims and states of the interface are created when they are used, which is rare. */
export class RepeatedReserved implements ReservedClaims, ReservedLimits, PlannedRequest {
  readonly plan: RepeatedPlan;
  readonly reservation: RepeatedReservation;
  readonly body: RequestBody | null;
  readonly path: string;
  added: ReservedClaims | null = null;

  constructor(plan: RepeatedPlan, reservation: RepeatedReservation, { body, path }: PlannedRequest) {
    this.plan = plan;
    this.reservation = reservation;
    this.body = body;
    this.path = path;
  }

  get plannedFor(): PlannedRequest {
    return this;
  }
  get limits(): readonly TokensLimitClaim[] {
    return this.plan.limits.map((claim, at) => ({ ...claim, amount: this.reservation.amountAt(at) }));
  }
  get budgets(): readonly PlannedClaim[] {
    const { limits, budgets } = this.plan;
    return budgets.map((claim, at) => ({ ...claim, amount: this.reservation.amountAt(limits.length + at) }));
  }
  get fields(): readonly LimitFields[] {
    return this.plan.fields;
  }
  get bits(): number {
    return this.plan.bits;
  }
  get hasBudgets(): boolean {
    return this.plan.budgets.length > 0;
  }

  /** Returns the index of the limit with the fewest tokens left, the first one of several. */
  tightestLimit(): number {
    let tightest = 0;
    for (let at = 1; at < this.plan.limits.length; at++)
      if (this.reservation.remainingAt(at) < this.reservation.remainingAt(tightest)) tightest = at;
    return tightest;
  }

  numbersAt(at: number): LimitNumbers {
    const { reservation, plan } = this;
    const limit = plan.limits[at]?.limit ?? 0;
    return { limit, remaining: reservation.remainingAt(at), resetAt: reservation.resetAt(at) };
  }

  remainingBudgets(): RemainingBudgets {
    const { limits, budgets } = this.plan;
    return { claims: budgets, states: this.reservation.states, first: limits.length };
  }

  writeLimits(writer: LineWriter): void {
    const { limits, fields } = this.plan;
    const { reservation } = this;
    for (let at = 0; at < fields.length; at++)
      fields[at]?.write(writer, limits[at]?.limit ?? 0, reservation.remainingAt(at), reservation.resetAt(at));
  }

  writeBudgets(writer: LineWriter): void {
    const { limits, budgets } = this.plan;
    let at = limits.length;
    for (const { budget } of budgets) {
      writeBudget(writer, budget, this.reservation.remainingAt(at), at === limits.length);
      at++;
    }
  }
}
