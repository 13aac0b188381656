// The ledger of one process: decided synchronously, in memory.
import { systemClock, type Clock } from "../base/clock.ts";
import { amountsOf, Budget } from "./budgets.ts";
import {
  amountOf,
  chargeOf,
  forecastUnreserved,
  isAmount,
  isFitting,
  closedBudgetIn,
  refusalOf,
  secondsOf,
} from "./claims.ts";
import type {
  BudgetAmounts,
  BudgetClaim,
  BudgetTarget,
  Claim,
  ClaimState,
  Forecast,
  Ledger,
  LedgerState,
  Refusal,
  Reservation,
  TokensClaim,
  UnavailablePolicy,
  WindowTarget,
} from "./ledger.ts";
import type { JournalWriterOptions } from "./journal-writer-options.ts";
import { JournalWriter } from "./journal-writer.ts";
import { ClaimCheck, MemoryAccounts, type Account } from "./memory-accounts.ts";
import { MemoryReservation } from "./memory-reservation.ts";
import { RepeatedClaims } from "./repeated-claims.ts";
import type { SpentJournal } from "./spent-journal.ts";
import { WallOffset } from "./wall-offset.ts";
import { add } from "./window.ts";

/** Windows are measured with `now`. `unixNow` is only for the reset time that clients see, and for periods. */
interface MemoryLedgerOptions extends JournalWriterOptions {
  readonly clock?: Clock;
  /** Where spent amounts of budgets are kept; without it, they end with the process. */
  readonly journal?: SpentJournal;
  /** Maximum number of windows; see Windows and RequestLogs for what happens then. */
  readonly maxKeys?: number;
}

const MAX_KEYS = 1_000_000;
const CALLS_PER_SWEEP = 64;
const CALLS_PER_BUDGET_SWEEP = 65_536;
/** Reservations end with the process. The journal, if there is one, knows those of budgets, and charges them as reserved. */
export class MemoryLedger implements Ledger {
  readonly state: LedgerState = { state: "none", detail: "in memory" };
  /** Reserves claims that many requests repeat. */
  readonly repeated: RepeatedClaims;
  readonly #clock: Clock;
  readonly #journal: JournalWriter | null;
  readonly #accounts: MemoryAccounts;
  /** By position of the claim in the call. */
  readonly #checks: ClaimCheck[] = [];
  #calls = 0;
  readonly #wallOffset: WallOffset;
  /** Created once, because every reservation needs it. */
  readonly #endReservation = (
    { claims, accounts, reservedAt }: MemoryReservation,
    actualAmounts: readonly number[] | null,
  ): void => this.#end(claims, accounts, actualAmounts, reservedAt);

  constructor(options: MemoryLedgerOptions = {}) {
    const { clock = systemClock, journal } = options;
    this.#clock = clock;
    this.#wallOffset = new WallOffset(clock);
    this.#accounts = new MemoryAccounts(options.maxKeys ?? MAX_KEYS);
    const { budgets } = this.#accounts;
    this.#journal = journal === undefined ? null : new JournalWriter(journal, budgets, clock, options);
    this.repeated = new RepeatedClaims({
      clock,
      accounts: this.#accounts,
      journal: this.#journal,
      wallOffset: this.#wallOffset,
      spend: (budget, amount) => this.#spend(budget, amount),
      sweepSometimes: (now) => this.#sweepSometimes(now),
    });
  }

  /** The number of windows and budgets. */
  get size(): number {
    return this.#accounts.size;
  }

  get isLoaded(): boolean {
    return this.#journal?.isLoaded !== false;
  }

  /** Resolves when the journal was read, or could not be read. Until it was read, `closed` refuses budgets. */
  get settled(): Promise<void> {
    return this.#journal?.settled ?? Promise.resolve();
  }

  reserve(_gatewayId: string, claims: readonly Claim[], policy: UnavailablePolicy): Reservation | Refusal {
    if (!this.isLoaded) {
      const closed = closedBudgetIn(claims, policy);
      if (closed !== -1)
        return refusalOf(forecastUnreserved(claims, "closed", this.#clock.unixNow(), closed));
    }
    const now = this.#clock.now();
    const refusedBy = this.#check(claims, now);
    const states = this.#states(claims, now, refusedBy === -1);
    const accounts = refusedBy === -1 ? this.#open(claims, now) : null;
    // Last, because it moves what the checks refer to.
    this.#sweepSometimes(now);
    if (refusedBy !== -1) {
      this.recheck(claims[refusedBy]);
      return { reserved: false, refusedBy, states, source: "memory" };
    }
    return new MemoryReservation(states, claims, accounts, now, this.#endReservation);
  }

  get accounts(): MemoryAccounts {
    return this.#accounts;
  }

  /** Call with the claim that refuses a request: if it is on a budget, another process may have reset it. */
  recheck(refusing: Claim | undefined): void {
    const budget = refusing?.kind === "budget" ? this.#accounts.budgets.find(refusing) : undefined;
    if (budget !== undefined) this.#journal?.recheck(budget);
  }

  peek(_gatewayId: string, claims: readonly Claim[]): Forecast {
    const now = this.#clock.now();
    const refusedBy = this.#check(claims, now);
    const fits = refusedBy === -1;
    return { fits, refusedBy, states: this.#states(claims, now, fits), source: "memory" };
  }

  knownRefusal(claims: readonly Claim[]): Refusal | null {
    const now = this.#clock.now();
    const refusedBy = this.#check(claims, now);
    if (refusedBy === -1) return null;
    this.recheck(claims[refusedBy]);
    return { reserved: false, refusedBy, states: this.#states(claims, now, false), source: "memory" };
  }

  /**
   * Reserves claims that were reserved elsewhere, whether they fit or not, with the states reported there. Returns the function that
   * settles or releases them.
   */
  record(
    claims: readonly Claim[],
    states: readonly ClaimState[],
  ): (actualAmounts: readonly number[] | null) => void {
    const now = this.#clock.now();
    this.#check(claims, now);
    const accounts = this.#open(claims, now);
    this.#sweepSometimes(now);
    for (const [at, claim] of claims.entries()) {
      const budget = claim.kind === "budget" ? this.#accounts.budgets.find(claim) : undefined;
      const state = states[at];
      if (state === undefined || state.isUnknown === true) continue;
      const { used } = state;
      if (budget !== undefined)
        budget.reservedElsewhere = Math.max(0, used - add(budget.spent, budget.reservedHere));
    }
    return (actualAmounts) => this.#end(claims, accounts, actualAmounts, now);
  }

  clear(_gatewayId: string, target: WindowTarget | BudgetTarget): void {
    if (target.kind !== "budget") this.#accounts.clear(target);
    else {
      const budget = this.#accounts.budgets.find(target);
      if (budget !== undefined) this.#spend(budget, budget.reset());
    }
  }

  adjust(_gatewayId: string, target: BudgetTarget, amount: number): BudgetAmounts {
    if (!isAmount(Math.abs(amount))) throw new RangeError(`Amount ${amount} must be an integer.`);
    const budget = this.#accounts.budgets.findOrCreate(target);
    this.#spend(budget, amount);
    return amountsOf(budget);
  }

  read(_gatewayId: string, targets: readonly BudgetTarget[]): readonly BudgetAmounts[] {
    return targets.map((target) => amountsOf(this.#accounts.budgets.find(target)));
  }

  refresh(_gatewayId: string, targets: readonly BudgetTarget[]): Promise<void> {
    return this.#journal?.refresh(targets) ?? Promise.resolve();
  }

  async close(): Promise<void> {
    await this.#journal?.close();
  }

  #spend(budget: Budget, amount: number): void {
    budget.spend(amount);
    // Without a journal nothing is ever written, and only periods without unwritten amounts are dropped.
    if (this.#journal === null) budget.unwritten = 0;
    else this.#journal.mark(budget);
  }

  #checkAt(position: number): ClaimCheck {
    return (this.#checks[position] ??= new ClaimCheck());
  }

  /** Fills the checks of the claims. Returns the index of the first claim that does not fit, or -1. Writes nothing, not even keys. */
  #check(claims: readonly Claim[], now: number): number {
    let refusedBy = -1;
    for (let at = 0; at < claims.length; at++) {
      const claim = claims[at];
      if (claim === undefined) continue;
      const check = this.#checkAt(at);
      check.amount = amountOf(claim);
      check.used = this.#accounts.measure(check, claim, now);
      check.fits = isFitting(claim, check.amount, check.used);
      if (!check.fits && refusedBy === -1) refusedBy = at;
    }
    return refusedBy;
  }

  /** `isIncluded`: the claims are reserved, or would be. */
  #states(claims: readonly Claim[], now: number, isIncluded: boolean): ClaimState[] {
    const wallOffset = this.#wallOffset.at(now);
    const states: ClaimState[] = [];
    for (const claim of claims) {
      const check = this.#checkAt(states.length);
      const used = isIncluded ? add(check.used, check.amount) : check.used;
      states.push({
        used,
        remaining: Math.max(0, claim.limit - used),
        resetAt:
          claim.kind === "budget"
            ? secondsOf(claim.endsAt)
            : secondsOf(wallOffset + this.#accounts.leavesAt(check, claim, now)),
        waitMs: check.fits ? 0 : this.#accounts.waitMs(check, claim, now, this.#clock.unixNow()),
      });
    }
    return states;
  }

  /** Reserves the claims that were checked. Returns their accounts, null if all of them are request limits. */
  #open(claims: readonly Claim[], now: number): (Account | undefined)[] | null {
    let accounts: (Account | undefined)[] | null = null;
    let mayHaveMoved = false;
    for (let at = 0; at < claims.length; at++) {
      const claim = claims[at];
      if (claim === undefined) continue;
      if (claim.kind === "requests") {
        const check = this.#checkAt(at);
        // A new key may move the slots of all other keys.
        if (check.slot === -1) mayHaveMoved = true;
        this.#accounts.append(check, claim, mayHaveMoved, now);
      } else (accounts ??= [])[at] = this.#reserveAmount(claim, this.#checkAt(at));
    }
    return accounts;
  }

  #reserveAmount(claim: TokensClaim | BudgetClaim, { account }: ClaimCheck): Account {
    if (claim.kind === "tokens") return this.#accounts.reserveTokens(claim, account);
    const budget = account instanceof Budget ? account : this.#accounts.budgets.findOrCreate(claim);
    budget.reserve(claim);
    this.#journal?.mark(budget);
    return budget;
  }

  #end(
    claims: readonly Claim[],
    accounts: readonly (Account | undefined)[] | null,
    actualAmounts: readonly number[] | null,
    reservedAt: number,
  ): void {
    // Requests stay counted.
    if (accounts === null && actualAmounts !== null) return;
    const now = this.#clock.now();
    for (let at = 0; at < claims.length; at++) {
      const claim = claims[at];
      if (claim === undefined) continue;
      if (claim.kind === "requests") {
        if (actualAmounts === null) this.#accounts.release(claim, reservedAt);
        continue;
      }
      const charge = actualAmounts === null ? 0 : chargeOf(claim, actualAmounts[at]);
      const account = accounts?.[at];
      if (claim.kind === "tokens") this.#accounts.settleTokens(claim, account, charge, now);
      else {
        // Without a reserved amount, the period may have been dropped.
        const isKept = claim.amount > 0 && account instanceof Budget;
        const budget = isKept ? account : this.#accounts.budgets.findOrCreate(claim);
        budget.reservedHere = Math.max(0, budget.reservedHere - claim.amount);
        this.#spend(budget, charge);
      }
    }
  }

  #sweepSometimes(now: number): void {
    const calls = ++this.#calls;
    if (calls % CALLS_PER_SWEEP !== 0) return;
    this.#accounts.sweep(now);
    if (calls % CALLS_PER_BUDGET_SWEEP === 0) this.#accounts.budgets.sweep(this.#clock.unixNow());
  }
}
