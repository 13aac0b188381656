// Claims that many requests repeat with other amounts: their accounts are found once, and a reservation is one object with numbers.
import type { Clock } from "../base/clock.ts";
import { Budget } from "./budgets.ts";
import { isAmount, isFitting, secondsOf } from "./claims.ts";
import type { JournalWriter } from "./journal-writer.ts";
import type { BudgetClaim, Claim, ClaimState, TokensClaim } from "./ledger.ts";
import type { Account, MemoryAccounts } from "./memory-accounts.ts";
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

/** Claims of one request, whose amounts are not used, and their accounts in the same order. */
export interface RememberedClaims {
  readonly claims: readonly AmountClaim[];
  readonly accounts: readonly Account[];
}

export class RepeatedClaims {
  readonly #parts: LedgerParts;

  constructor(parts: LedgerParts) {
    this.#parts = parts;
  }

  /** Returns null if one of the claims is a request limit or has no account. Call when they are reserved. */
  remember(claims: readonly Claim[]): RememberedClaims | null {
    const amountClaims: AmountClaim[] = [];
    const accounts: Account[] = [];
    for (const claim of claims) {
      const account = this.#parts.accounts.find(claim);
      if (claim.kind === "requests" || account === undefined) return null;
      amountClaims.push(claim);
      accounts.push(account);
    }
    return { claims: amountClaims, accounts };
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
    const { journal, wallOffset, sweepSometimes } = this.#parts;
    if (journal !== null && !journal.isLoaded) return false;
    const { claims, accounts } = draft.remembered;
    for (let at = 0; at < claims.length; at++) {
      const claim = claims[at];
      const account = accounts[at];
      const amount = draft.amountAt(at);
      if (claim === undefined || account === undefined || account.isDropped || !isAmount(amount))
        return false;
      const used = usedOf(claim, account, now);
      if (!isFitting(claim, amount, used)) return false;
      draft.setUsed(at, add(used, amount));
    }
    const offset = wallOffset.at(now);
    for (let at = 0; at < claims.length; at++) {
      const claim = claims[at];
      const account = accounts[at];
      const amount = draft.amountAt(at);
      if (account instanceof Window) {
        const windowMs = claim?.kind === "tokens" ? claim.windowMs : 0;
        draft.setResetAt(at, Math.ceil((offset + account.oldest(windowMs, now) + windowMs) / 1000));
        account.reserved = add(account.reserved, amount);
      } else if (account !== undefined) {
        account.reservedHere = add(account.reservedHere, amount);
        journal?.mark(account);
      }
    }
    // Last, because it may drop accounts.
    sweepSometimes(now);
    return true;
  }

  /** Replaces the amounts of a reservation with the actual ones; null releases them. */
  end(reservation: RepeatedReservation, actualAmounts: readonly number[] | null): void {
    const { clock, accounts: all, spend } = this.#parts;
    const { claims, accounts } = reservation.remembered;
    const now = clock.now();
    for (let at = 0; at < claims.length; at++) {
      const claim = claims[at];
      const account = accounts[at];
      if (claim === undefined) continue;
      const reserved = reservation.amountAt(at);
      const actual = actualAmounts === null ? 0 : actualAmounts[at];
      const charge = isAmount(actual) ? actual : reserved;
      if (claim.kind === "tokens") {
        all.settleWindow(claim, account instanceof Window ? account : undefined, reserved, charge, now);
        continue;
      }
      const isKept = account instanceof Budget && !account.isDropped;
      const budget = isKept ? account : all.budgets.findOrCreate(claim);
      budget.reservedHere = Math.max(0, budget.reservedHere - reserved);
      spend(budget, charge);
    }
  }
}

function usedOf(claim: AmountClaim, account: Account, now: number): number {
  if (account instanceof Budget) return account.used;
  return claim.kind === "tokens" ? add(account.settled(claim.windowMs, now), account.reserved) : 0;
}

/** A reservation of remembered claims. Its numbers are in one array, because it is created for every request. */
export class RepeatedReservation extends OpenReservation {
  readonly remembered: RememberedClaims;
  readonly #ledger: RepeatedClaims;
  readonly #count: number;
  /** The amounts of all claims, then what is used of them, then the reset times in Unix seconds. */
  readonly #numbers: Float64Array;

  constructor(remembered: RememberedClaims, ledger: RepeatedClaims) {
    super("memory");
    this.remembered = remembered;
    this.#ledger = ledger;
    this.#count = remembered.claims.length;
    this.#numbers = new Float64Array(3 * this.#count);
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
  resetAt(at: number): number {
    return this.#numbers[2 * this.#count + at] ?? 0;
  }

  setResetAt(at: number, unixSeconds: number): void {
    this.#numbers[2 * this.#count + at] = unixSeconds;
  }

  /** Created when it is needed, which is rare. */
  get states(): readonly ClaimState[] {
    return this.remembered.claims.map((claim, at) => ({
      used: this.usedAt(at),
      remaining: this.remainingAt(at),
      resetAt: claim.kind === "tokens" ? this.resetAt(at) : secondsOf(claim.endsAt),
      waitMs: 0,
    }));
  }

  protected ended(actualAmounts: readonly number[] | null): void {
    this.#ledger.end(this, actualAmounts);
  }
}
