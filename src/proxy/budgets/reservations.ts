// Reserves the limits and budgets of a request, and settles them when it has ended, whatever happened.
import { GatehouseError } from "../../base/errors.ts";
import { isPromise, type ValueOrPromise } from "../../base/value-or-promise.ts";
import type { Claim, ClaimState, Refusal, Reservation } from "../../ledger/ledger.ts";
import type { BudgetBook } from "../../runtime/budget-book.ts";
import type { CompiledBudget } from "../../snapshot/compiled-budget.ts";
import type { OutputSpeeds } from "../../usage/output-speeds.ts";
import type { Usage } from "../../usage/usage-accumulator.ts";
import type { Exchange } from "../exchange.ts";
import { estimateInput } from "../record-usage.ts";
import { amountsOf, chargesOf, hasOneKnownCharge, isKnown, onlyAmountsOf } from "./charges.ts";
import type { RequestSize } from "./request-size.ts";
import { RepeatedReserved } from "./repeated-reserved.ts";
import { reservationsIn, type Charge, type PlannedClaim, type ReservedClaims } from "./reserved-claims.ts";

const NO_AMOUNTS: readonly number[] = [];
/** The amounts of a repeated reservation, which are used before the next one is settled. */
const repeatedAmounts: number[] = [];

export class Reservations {
  readonly #book: BudgetBook;

  constructor(book: BudgetBook) {
    this.#book = book;
  }

  get outputSpeeds(): OutputSpeeds {
    return this.#book.outputSpeeds;
  }

  /** Reserves claims in the ledger. Those of budgets come last. */
  reserve({ gateway, gameDay }: Exchange, claims: readonly Claim[]): ValueOrPromise<Reservation | Refusal> {
    const { ledger } = this.#book;
    if (gameDay !== null && ledger.reserveUnavailable !== undefined && gameDay.injectRedisOutage())
      return ledger.reserveUnavailable(gateway?.id ?? "", claims, "closed");
    return ledger.reserve(gateway?.id ?? "", claims, "closed");
  }

  /** Returns the refusal of claims if this process knows of one without asking the shared ledger. Reserves nothing. */
  knownRefusal(claims: readonly PlannedClaim[]): Refusal | null {
    return this.#book.ledger.knownRefusal(claims);
  }

  /** Call when the ledger has decided about claims on budgets. `first` is the index of the first one. */
  decided(
    { gateway }: Exchange,
    claims: readonly PlannedClaim[],
    { reserved, states }: Reservation | Refusal,
    first: number,
  ): void {
    let at = first;
    for (const claim of claims) {
      if (reserved) this.#book.admitted(claim);
      // Settlements that exceeded their reservations may have reached a threshold that no later request can report.
      else this.#report(claim, states[at], 0, gateway);
      at++;
    }
  }

  /** Counts a request that a budget has refused. */
  countRefusal({ gateway }: Exchange, budget: CompiledBudget): void {
    this.#book.refused(budget, gateway);
  }

  /**
   * Releases what is reserved if no provider got the request, because it was rejected or a plugin responded to it. `now` is the time of the
   * exchange's clock, which is that of the ledger.
   */
  settle(exchange: Exchange, reserved: ReservedClaims, now: number): void {
    const { reservation, added, next } = reserved;
    if (exchange.attempts === 0 && !exchange.isServedHere) {
      reservation.release();
      added?.reservation.release();
      return;
    }
    if (added === null && next === null && !hasAmounts(reserved)) {
      reservation.settle(NO_AMOUNTS);
      return;
    }
    const size = exchange.knownSize?.size ?? null;
    const known = size === null || isPromise(size) ? null : size;
    if (known !== null) {
      // Files and stored conversations are not part of the estimate, and say nothing about its texts.
      if (known.fileTokens === 0) this.#recordInput(exchange, known.inputTokens);
      // Responses to requests with a limit say little about those without one. The output of several choices is reported as a sum, and
      // dividing it would let a client lower the estimates, because some providers ignore the number of choices.
      if (known.maxOutputTokens === null && known.choices === 1) this.recordOutput(exchange, exchange.usage);
    }
    const isBilled = exchange.gameDay?.isAffected !== true;
    const isAlone = added === null && next === null;
    if (isBilled && isAlone && reserved instanceof RepeatedReserved && hasOneKnownCharge(exchange)) {
      const { limits, budgets } = reserved.plan;
      const amounts = onlyAmountsOf(exchange, limits, budgets, repeatedAmounts);
      reserved.settleAt(now, amounts);
      this.#reportSettled(exchange, reserved, amounts);
      return;
    }
    const charges = isBilled ? chargesOf(exchange, inputOf(exchange, known)) : [];
    if (next === null) this.settleWith(exchange, reserved, charges);
    else this.#settleAttempts(exchange, reservationsIn(reserved), charges);
  }

  /** Every attempt has its own reservation. One that no attempt has used is released. */
  #settleAttempts(exchange: Exchange, all: readonly ReservedClaims[], charges: readonly Charge[]): void {
    for (const [at, reserved] of all.entries()) {
      const own = charges.slice(at, at === all.length - 1 ? undefined : at + 1);
      if (own.length > 0 || at === 0) this.settleWith(exchange, reserved, own);
      else reserved.reservation.release();
    }
  }

  /** Settles what a plugin in shadow mode has reserved. Unlike `settle`, later estimates do not learn from the request. */
  settleShadow(exchange: Exchange, reserved: ReservedClaims, knownSize: Exchange["knownSize"]): void {
    if (exchange.attempts === 0 && !exchange.isServedHere) {
      reserved.reservation.release();
      return;
    }
    const size = knownSize?.size ?? null;
    const known = size === null || isPromise(size) ? null : size;
    const charges = chargesOf(exchange, inputOf(exchange, known));
    // Outside of shadow mode, a hedge has a reservation of its own.
    const unused = exchange.hedge?.unused ?? null;
    this.settleWith(exchange, reserved, unused === null ? charges : [...charges, unused.charge]);
  }

  /** Settles what is reserved with these charges; without any, nothing is charged. */
  settleWith(exchange: Exchange, reserved: ReservedClaims, charges: readonly Charge[]): void {
    if (reserved instanceof RepeatedReserved && charges.every(isKnown)) {
      this.#settleRepeated(exchange, reserved, charges);
      if (reserved.added !== null) this.settleWith(exchange, reserved.added, charges);
      return;
    }
    const { reservation, limits, budgets, added } = reserved;
    const { gateway } = exchange;
    const amounts = amountsOf(limits, budgets, charges);
    reservation.settle(amounts);
    let at = limits.length;
    for (const claim of budgets) {
      const excess = Math.max(0, (amounts[at] ?? 0) - claim.amount);
      this.#report(claim, reservation.states[at], excess, gateway);
      at++;
    }
    if (added !== null) this.settleWith(exchange, added, charges);
  }

  /** A budget whose amounts are unknown is reported by a later request. */
  #report(
    claim: PlannedClaim,
    state: ClaimState | undefined,
    excess: number,
    gateway: Exchange["gateway"],
  ): void {
    if (state?.isUnknown !== true) this.#book.report(claim, (state?.used ?? 0) + excess, gateway);
  }

  /** The charges are known, so that no amount of a claim matters. */
  #settleRepeated(exchange: Exchange, reserved: RepeatedReserved, charges: readonly Charge[]): void {
    const { limits, budgets } = reserved.plan;
    const amounts = amountsOf(limits, budgets, charges, repeatedAmounts);
    reserved.settle(amounts);
    this.#reportSettled(exchange, reserved, amounts);
  }

  #reportSettled({ gateway }: Exchange, reserved: RepeatedReserved, amounts: readonly number[]): void {
    const { limits, budgets } = reserved.plan;
    let at = limits.length;
    for (const claim of budgets) {
      const excess = Math.max(0, (amounts[at] ?? 0) - reserved.amountAt(at));
      this.#book.report(claim, reserved.usedAt(at) + excess, gateway);
      at++;
    }
  }

  /** Remembers how the estimated input of a request differs from that which the provider has reported. */
  #recordInput({ response, gateway, usage }: Exchange, estimated: number): void {
    const model = response?.model ?? null;
    if (model === null || gateway === null || usage === null || usage.isPartial) return;
    this.#book.inputCalibration.add(gateway.id, model, estimated, usage.inputTokens);
  }

  /** Remembers the output of a response for the estimates of later ones. Unknown if `usage` is partial or null. */
  recordOutput({ response, gateway }: Exchange, usage: Usage | null): void {
    const model = response?.model ?? null;
    if (model === null || gateway === null || usage === null || usage.isPartial) return;
    this.#book.outputSizes.add(gateway.id, model, usage.outputTokens);
  }
}

/** Returns the input to charge for attempts without a response. Nothing is reserved for the files of a form, but they cost something. */
function inputOf(exchange: Exchange, known: RequestSize | null): number {
  if (known === null) return 0;
  return known.inputTokens > 0 ? known.inputTokens : estimateInput(exchange);
}

/** Whether anything but requests is reserved. */
function hasAmounts(reserved: ReservedClaims): boolean {
  if (reserved instanceof RepeatedReserved) return true;
  return reserved.budgets.length > 0 || reserved.limits.some(({ kind }) => kind !== "requests");
}

/** `first` is the index of the first claim on a budget. */
export function budgetRefusal(
  claims: readonly PlannedClaim[],
  { refusedBy, source }: Refusal,
  first: number,
): GatehouseError {
  const claim = claims[refusedBy - first];
  if (claim === undefined || source === "closed")
    return new GatehouseError(
      "counters_unavailable",
      "The budgets cannot be checked because the shared ledger is unavailable, or has unusable data of this gateway, which the log names. Retry later.",
      { headers: { "Retry-After": "1" } },
    );
  const { budget, endsAt } = claim;
  return budgetExceeded(budget.record.name, endsAt === null ? null : new Date(endsAt).toISOString());
}

function budgetExceeded(name: string, resetsAt: string | null): GatehouseError {
  const when = resetsAt === null ? "It does not start again by itself." : `It starts again at ${resetsAt}.`;
  return new GatehouseError(
    "budget_exceeded",
    `The budget "${name}" has not enough left for this request. ${when}`,
    { headers: { "x-should-retry": "false" }, fields: { budget: name, resets_at: resetsAt } },
  );
}

/** Leaves out budgets whose amounts are unknown. */
export function setRemainingHeader(
  { ownHeaders }: Exchange,
  claims: readonly PlannedClaim[],
  states: readonly ClaimState[],
  first: number,
): void {
  if (!states.some(isUnknown)) {
    ownHeaders.setBudgets({ claims, states, first });
    return;
  }
  const known = claims.filter((_, at) => states[first + at]?.isUnknown !== true);
  const knownStates = states.slice(first, first + claims.length).filter((state) => !isUnknown(state));
  if (known.length > 0) ownHeaders.setBudgets({ claims: known, states: knownStates, first: 0 });
}

function isUnknown(state: ClaimState): boolean {
  return state.isUnknown === true;
}
