// What a request has reserved of limits and budgets that earlier requests of its API key have reserved, too.
import type { FieldLines } from "../../http/header-fields.ts";
import type { LineWriter } from "../../http/line-writer.ts";
import {
  RepeatedReservation,
  type RememberedClaims,
  type RepeatedClaims,
} from "../../ledger/repeated-claims.ts";
import type { TokensLimitClaim } from "../../sdk/index.ts";
import type { ReservedLimits } from "../response-headers.ts";
import { startBudgets, writeBudget, type RemainingBudgets } from "../remaining-budgets.ts";
import type { RequestBody } from "../request-body.ts";
import { writeTokenLimit, type LimitFields, type LimitNumbers } from "../token-limit-headers.ts";
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
export class RepeatedReserved
  extends RepeatedReservation
  implements ReservedClaims, ReservedLimits, PlannedRequest, LimitNumbers, FieldLines
{
  readonly plan: RepeatedPlan;
  readonly body: RequestBody | null;
  readonly path: string;
  added: ReservedClaims | null = null;
  next: ReservedClaims | null = null;
  /** The index of the limit with the fewest tokens left, the first one of several. */
  #tightest = 0;
  #tokenLimit: LimitNumbers | null = null;
  #unixMs = 0;

  constructor(plan: RepeatedPlan, ledger: RepeatedClaims, body: RequestBody | null, path: string) {
    super(plan.remembered, ledger);
    this.plan = plan;
    this.body = body;
    this.path = path;
  }

  get reservation(): this {
    return this;
  }
  get plannedFor(): PlannedRequest {
    return this;
  }
  get limits(): readonly TokensLimitClaim[] {
    return this.plan.limits.map((claim, at) => ({ ...claim, amount: this.amountAt(at) }));
  }
  get budgets(): readonly PlannedClaim[] {
    const { limits, budgets } = this.plan;
    return budgets.map((claim, at) => ({ ...claim, amount: this.amountAt(limits.length + at) }));
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

  /** Call when the amounts are reserved: the limit with the fewest tokens left is the one that clients see. */
  findTightest(): void {
    let least = this.remainingAt(0);
    for (let at = 1; at < this.plan.limits.length; at++) {
      const remaining = this.remainingAt(at);
      if (remaining >= least) continue;
      least = remaining;
      this.#tightest = at;
    }
  }

  get limit(): number {
    return this.plan.limits[this.#tightest]?.limit ?? 0;
  }
  get remaining(): number {
    return this.remainingAt(this.#tightest);
  }
  get resetAt(): number {
    return this.resetTimeAt(this.#tightest);
  }

  get window(): number {
    return (this.plan.limits[this.#tightest]?.windowMs ?? Infinity) / 1000;
  }

  numbersAt(at: number): LimitNumbers {
    const limit = this.plan.limits[at]?.limit ?? 0;
    return { limit, remaining: this.remainingAt(at), resetAt: this.resetTimeAt(at) };
  }

  remainingBudgets(): RemainingBudgets {
    const { limits, budgets } = this.plan;
    return { claims: budgets, states: this.states, first: limits.length };
  }

  linesWith(tokenLimit: LimitNumbers | null, unixMs: number): FieldLines {
    this.#tokenLimit = tokenLimit;
    this.#unixMs = unixMs;
    return this;
  }

  write(writer: LineWriter): void {
    if (this.#tokenLimit !== null) writeTokenLimit(writer, this.#tokenLimit, this.#unixMs);
    this.writeReserved(writer);
  }

  writeReserved(writer: LineWriter): void {
    const { limits, fields, budgets } = this.plan;
    let at = 0;
    for (const each of fields) {
      each.write(writer, limits[at]?.limit ?? 0, this.remainingAt(at), this.resetTimeAt(at));
      at++;
    }
    if (budgets.length === 0) return;
    startBudgets(writer);
    for (const { budget } of budgets) {
      writeBudget(writer, budget, this.remainingAt(at), at === limits.length);
      at++;
    }
    writer.lineEnd();
  }
}
