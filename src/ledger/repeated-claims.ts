// Claims that many requests repeat with other amounts: their accounts are found once, and a reservation is one object with numbers.
import type { Clock } from "../base/clock.ts";
import { Budget } from "./budgets.ts";
import { isAmount, isFitting, secondsOf } from "./claims.ts";
import type { JournalWriter } from "./journal-writer.ts";
import type { BudgetClaim, Claim, ClaimState, TokensClaim } from "./ledger.ts";
import type { MemoryAccounts } from "./memory-accounts.ts";
import { OpenReservation } from "./open-reservation.ts";
import type { WallOffset } from "./wall-offset.ts";
import { add, Window } from "./window.ts";

type AmountClaim = TokensClaim | BudgetClaim;

interface LedgerParts {
  readonly clock: Clock;
  readonly accounts: MemoryAccounts;
  readonly journal: JournalWriter | null;
  readonly wallOffset: WallOffset;
  /** Adds to what a budget has spent, and has it written. */
  readonly spend: (budget: Budget, amount: number) => void;
  /** Call at the end of a reservation. */
  readonly sweepSometimes: (now: number) => void;
}

/** Claims of one request, whose amounts are not used, and their accounts in the same order: token limits, then budgets. */
export interface RememberedClaims {
  readonly claims: readonly AmountClaim[];
  readonly limits: readonly TokensClaim[];
  readonly windows: readonly Window[];
  readonly budgetClaims: readonly BudgetClaim[];
  readonly budgets: readonly Budget[];
  /** The numbers of a reservation before they are set. */
  readonly unsetNumbers: readonly number[];
}

/** A fraction, so that the runtime stores all numbers of an array as doubles from the start. */
const UNSET = 0.5;

export class RepeatedClaims {
  readonly #parts: LedgerParts;

  constructor(parts: LedgerParts) {
    this.#parts = parts;
  }

  /** Returns null if one of the claims is a request limit, has no account, or is a token limit after a budget. Call when they are reserved. */
  remember(claims: readonly Claim[]): RememberedClaims | null {
    const limits: TokensClaim[] = [];
    const windows: Window[] = [];
    const budgetClaims: BudgetClaim[] = [];
    const budgets: Budget[] = [];
    for (const claim of claims) {
      const account = this.#parts.accounts.find(claim);
      if (claim.kind === "tokens" && account instanceof Window && budgets.length === 0) {
        limits.push(claim);
        windows.push(account);
      } else if (claim.kind === "budget" && account instanceof Budget) {
        budgetClaims.push(claim);
        budgets.push(account);
      } else return null;
    }
    const unsetNumbers = new Array<number>(3 * claims.length).fill(UNSET);
    return { claims: [...limits, ...budgetClaims], limits, windows, budgetClaims, budgets, unsetNumbers };
  }

  /** Returns the Unix milliseconds of a time of the ledger's clock. */
  unixAt(now: number): number {
    return now + this.#parts.wallOffset.at(now);
  }

  /** Returns a reservation to set the amounts of. */
  draft(remembered: RememberedClaims): RepeatedReservation {
    return new RepeatedReservation(remembered, this);
  }

  /**
   * Reserves all amounts of a draft, or none of them, as the ledger does. If it returns false, call `reserve` of the ledger: an amount does
   * not fit, an account was dropped, or the amounts of earlier processes are not known yet. `now` is the time of the ledger's clock.
   */
  reserve(draft: RepeatedReservation, now: number): boolean {
    const { journal, sweepSometimes } = this.#parts;
    if (journal !== null && !journal.isLoaded) return false;
    if (!fitsWindows(draft, now) || !fitsBudgets(draft)) return false;
    this.#reserveWindows(draft, now);
    const { limits, budgets } = draft.remembered;
    let at = limits.length;
    for (const budget of budgets) {
      budget.reservedHere = add(budget.reservedHere, draft.amountAt(at++));
      journal?.mark(budget);
    }
    // Last, because it may drop accounts.
    sweepSometimes(now);
    return true;
  }

  #reserveWindows(draft: RepeatedReservation, now: number): void {
    const { limits, windows } = draft.remembered;
    const offset = this.#parts.wallOffset.at(now);
    let at = 0;
    for (const window of windows) {
      const windowMs = limits[at]?.windowMs ?? 0;
      draft.setResetTime(at, Math.ceil((offset + window.oldest(windowMs, now) + windowMs) / 1000));
      window.reserved = add(window.reserved, draft.amountAt(at++));
    }
  }

  /** Replaces the amounts of a reservation with the actual ones; null releases them. */
  end(
    reservation: RepeatedReservation,
    actualAmounts: readonly number[] | null,
    endedAt: number | null,
  ): void {
    const { clock, accounts, spend } = this.#parts;
    const { limits, windows, budgetClaims, budgets } = reservation.remembered;
    const now = endedAt ?? clock.now();
    let at = 0;
    for (const claim of limits) {
      const charge = chargeAt(reservation, at, actualAmounts);
      accounts.settleWindow(claim, windows[at], reservation.amountAt(at), charge, now);
      at++;
    }
    for (const claim of budgetClaims) {
      const known = budgets[at - limits.length];
      const isKept = known !== undefined && !known.isDropped;
      const budget = isKept ? known : accounts.budgets.findOrCreate(claim);
      budget.reservedHere = Math.max(0, budget.reservedHere - reservation.amountAt(at));
      spend(budget, chargeAt(reservation, at, actualAmounts));
      at++;
    }
  }
}

/** Returns whether the amounts fit into the token limits, and sets what is used with them. */
function fitsWindows(draft: RepeatedReservation, now: number): boolean {
  const { limits, windows } = draft.remembered;
  let at = 0;
  for (const window of windows) {
    const claim = limits[at];
    const amount = draft.amountAt(at);
    if (claim === undefined || window.isDropped || !isAmount(amount)) return false;
    const used = add(window.settled(claim.windowMs, now), window.reserved);
    if (!isFitting(claim, amount, used)) return false;
    draft.setUsed(at++, add(used, amount));
  }
  return true;
}

/** As `fitsWindows` for the budgets. */
function fitsBudgets(draft: RepeatedReservation): boolean {
  const { limits, budgetClaims, budgets } = draft.remembered;
  let at = limits.length;
  for (const claim of budgetClaims) {
    const budget = budgets[at - limits.length];
    const amount = draft.amountAt(at);
    if (budget === undefined || budget.isDropped || !isAmount(amount)) return false;
    const { used } = budget;
    if (!isFitting(claim, amount, used)) return false;
    draft.setUsed(at++, add(used, amount));
  }
  return true;
}

/** Returns what a claim is charged with: the reserved amount if the actual one is not known. */
function chargeAt(
  reservation: RepeatedReservation,
  at: number,
  actualAmounts: readonly number[] | null,
): number {
  if (actualAmounts === null) return 0;
  const actual = actualAmounts[at];
  return isAmount(actual) ? actual : reservation.amountAt(at);
}

/** A reservation of remembered claims. Its numbers are in one array, because it is created for every request. */
export class RepeatedReservation extends OpenReservation {
  readonly remembered: RememberedClaims;
  readonly #ledger: RepeatedClaims;
  readonly #count: number;
  /** The amounts of all claims, then what is used of them, then the reset times in Unix seconds. */
  readonly #numbers: number[];
  #endedAt: number | null = null;

  constructor(remembered: RememberedClaims, ledger: RepeatedClaims) {
    super("memory");
    this.remembered = remembered;
    this.#ledger = ledger;
    this.#count = remembered.claims.length;
    // A copy takes two thirds of the time that a new Float64Array takes.
    this.#numbers = remembered.unsetNumbers.slice();
  }

  /** The amount that is reserved of a claim. */
  amountAt(at: number): number {
    return this.#numbers[at] ?? 0;
  }

  setAmount(at: number, amount: number): void {
    this.#numbers[at] = amount;
  }

  /** As `used` of its state. */
  usedAt(at: number): number {
    return this.#numbers[this.#count + at] ?? 0;
  }

  setUsed(at: number, used: number): void {
    this.#numbers[this.#count + at] = used;
  }

  /** As `remaining` of its state. */
  remainingAt(at: number): number {
    const used = this.#numbers[this.#count + at] ?? 0;
    return Math.max(0, (this.remembered.claims[at]?.limit ?? 0) - used);
  }

  /** As `resetAt` of the state of a token limit. */
  resetTimeAt(at: number): number {
    return this.#numbers[2 * this.#count + at] ?? 0;
  }

  setResetTime(at: number, unixSeconds: number): void {
    this.#numbers[2 * this.#count + at] = unixSeconds;
  }

  /** Created when it is needed, which is rare. */
  get states(): readonly ClaimState[] {
    return this.remembered.claims.map((claim, at) => ({
      used: this.usedAt(at),
      remaining: this.remainingAt(at),
      resetAt: claim.kind === "tokens" ? this.resetTimeAt(at) : secondsOf(claim.endsAt),
      waitMs: 0,
    }));
  }

  /** As `settle`, at a time of the ledger's clock that was read just now. */
  settleAt(now: number, actualAmounts: readonly number[]): void {
    this.#endedAt = now;
    this.settle(actualAmounts);
  }

  protected ended(actualAmounts: readonly number[] | null): void {
    this.#ledger.end(this, actualAmounts, this.#endedAt);
  }
}
