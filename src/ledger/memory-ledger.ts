// The ledger of one process: decided synchronously, in memory.
import { systemClock, type Clock } from "../base/clock.ts";
import { Budget, Budgets } from "./budgets.ts";
import {
  amountOf,
  chargeOf,
  forecastUnreserved,
  isAmount,
  isExact,
  isFitting,
  OpenReservation,
  refusalOf,
} from "./claims.ts";
import type {
  BudgetAmounts,
  BudgetTarget,
  Claim,
  ClaimState,
  Forecast,
  Ledger,
  LedgerState,
  Refusal,
  Reservation,
  UnavailablePolicy,
  WindowTarget,
} from "./ledger.ts";
import { JournalWriter } from "./journal-writer.ts";
import type { SpentJournal } from "./spent-journal.ts";
import { add, Window } from "./window.ts";
import { Windows } from "./windows.ts";

interface MemoryLedgerOptions {
  readonly clock?: Clock;
  /** Where spent amounts of budgets are kept; without it, they end with the process. */
  readonly journal?: SpentJournal;
  /** Called when the journal could not be read or written. This is tried again every second. */
  readonly onJournalError?: (error: unknown) => void;
  /** Maximum number of windows; see Windows for what happens then. */
  readonly maxKeys?: number;
}

const MAX_KEYS = 1_000_000;
const CALLS_PER_BUDGET_SWEEP = 65_536;
/** The wall clock has whole milliseconds, so that the measured difference between the clocks varies by up to this much. */
const CLOCK_JITTER_MS = 2;

/** The claims of one call, and what was found for each of them before it. */
interface Check {
  readonly claims: readonly Claim[];
  readonly now: number;
  /** The amounts to reserve. */
  readonly amounts: number[];
  /** Undefined if nothing was ever counted. */
  readonly accounts: (Window | Budget | undefined)[];
  /** Settled and reserved amounts. */
  readonly used: number[];
  /** Index of the first claim that does not fit, or -1. */
  refusedBy: number;
}

/**
 * Reservations do not expire here: they end with the process. The journal, if there is one, knows those of budgets, and charges
 * them as reserved.
 */
export class MemoryLedger implements Ledger {
  readonly state: LedgerState = { state: "none", detail: "in memory" };
  readonly #clock: Clock;
  readonly #journal: JournalWriter | null;
  readonly #windows: Windows;
  readonly #budgets = new Budgets();
  #calls = 0;
  /** Wall time minus monotonic time. Updated only when it is wrong, so that one moment is always the same second. */
  #wallOffset = NaN;

  constructor(options: MemoryLedgerOptions = {}) {
    const { clock = systemClock, journal, onJournalError = () => undefined } = options;
    this.#clock = clock;
    this.#journal =
      journal === undefined ? null : new JournalWriter(journal, this.#budgets, clock, onJournalError);
    this.#windows = new Windows(options.maxKeys ?? MAX_KEYS);
  }

  /** The number of windows and budgets. */
  get size(): number {
    return this.#windows.size + this.#budgets.size;
  }

  /** Resolves when the journal was read, or could not be read. Until it was read, `closed` refuses budgets. */
  get settled(): Promise<void> {
    return this.#journal?.settled ?? Promise.resolve();
  }

  reserve(_gatewayId: string, claims: readonly Claim[], policy: UnavailablePolicy): Reservation | Refusal {
    if (policy === "closed" && this.#journal?.isLoaded === false && claims.some(isBudget))
      return refusalOf(forecastUnreserved(claims, policy, this.#clock.unixNow()));
    const check = this.#check(claims);
    this.#sweepSometimes(check.now);
    const forecast = this.#forecast(check, true);
    if (!forecast.fits) {
      const account = check.accounts[check.refusedBy];
      if (account instanceof Budget) this.#journal?.recheck(account);
      return refusalOf(forecast);
    }
    const end = this.#open(check);
    return new OpenReservation(forecast, end);
  }

  peek(_gatewayId: string, claims: readonly Claim[]): Forecast {
    return this.#forecast(this.#check(claims), true);
  }

  knownRefusal(claims: readonly Claim[]): Refusal | null {
    const check = this.#check(claims);
    return check.refusedBy === -1 ? null : refusalOf(this.#forecast(check, false));
  }

  /** Reserves claims that were admitted elsewhere, whether or not they fit. Returns the function that ends the reservation. */
  record(
    claims: readonly Claim[],
    states: readonly ClaimState[],
  ): (actualAmounts: readonly number[] | null) => void {
    const check = this.#check(claims);
    this.#sweepSometimes(check.now);
    const end = this.#open(check);
    for (const [at, claim] of claims.entries()) {
      const budget = claim.kind === "budget" ? this.#budgets.find(claim) : undefined;
      const used = states[at]?.used ?? 0;
      if (budget !== undefined)
        budget.reservedElsewhere = Math.max(0, used - add(budget.spent, budget.reservedHere));
    }
    return end;
  }

  clear(_gatewayId: string, target: WindowTarget | BudgetTarget): void {
    if (target.kind !== "budget") this.#windows.find(target.key)?.clear();
    else {
      const budget = this.#budgets.find(target);
      if (budget !== undefined) this.#spend(budget, -budget.spent);
    }
  }

  adjust(_gatewayId: string, target: BudgetTarget, amount: number): BudgetAmounts {
    if (!isAmount(Math.abs(amount))) throw new RangeError(`Amount ${amount} must be an integer.`);
    const budget = this.#budgets.findOrCreate(target);
    this.#spend(budget, amount);
    return amountsOf(budget);
  }

  read(_gatewayId: string, targets: readonly BudgetTarget[]): readonly BudgetAmounts[] {
    return targets.map((target) => amountsOf(this.#budgets.find(target)));
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

  /** Writes nothing, not even keys: a refused request has no effect. */
  #check(claims: readonly Claim[]): Check {
    const now = this.#clock.now();
    const check: Check = { claims, now, amounts: [], accounts: [], used: [], refusedBy: -1 };
    for (const claim of claims) {
      const amount = amountOf(claim);
      const account = claim.kind === "budget" ? this.#budgets.find(claim) : this.#windows.find(claim.key);
      const used = usedOf(claim, account, now);
      if (check.refusedBy === -1 && !isFitting(claim, amount, used)) check.refusedBy = check.used.length;
      check.amounts.push(amount);
      check.accounts.push(account);
      check.used.push(used);
    }
    return check;
  }

  #forecast(check: Check, includesClaims: boolean): Forecast {
    const { claims, now, amounts, accounts, used, refusedBy } = check;
    const unixMs = this.#clock.unixNow();
    if (!(Math.abs(unixMs - now - this.#wallOffset) <= CLOCK_JITTER_MS)) this.#wallOffset = unixMs - now;
    const fits = refusedBy === -1;
    const states: ClaimState[] = [];
    for (const claim of claims) {
      const at = states.length;
      const [amount = 0, usedBefore = 0, account] = [amounts[at], used[at], accounts[at]];
      const usedAfter = fits && includesClaims ? add(usedBefore, amount) : usedBefore;
      states.push({
        used: usedAfter,
        remaining: Math.max(0, claim.limit - usedAfter),
        resetAt: resetOf(claim, account, now, this.#wallOffset),
        waitMs: isFitting(claim, amount, usedBefore) ? 0 : waitOf(claim, amount, account, now, unixMs),
      });
    }
    return { fits, refusedBy, states, source: "memory" };
  }

  /** Reserves the claims, which fit. Returns the function that settles or releases them. */
  #open({ claims, now, amounts, accounts }: Check): (actualAmounts: readonly number[] | null) => void {
    for (let at = 0; at < claims.length; at++) {
      const [claim, amount = 0] = [claims[at], amounts[at]];
      if (claim === undefined) continue;
      const account = this.#findOrCreate(claim);
      if (account instanceof Budget) {
        account.reservedHere = add(account.reservedHere, amount);
        this.#journal?.mark(account);
      } else if (claim.kind === "requests") account.charge(1, claim.windowMs, isExact(claim), now);
      else account.reserved = add(account.reserved, amount);
      accounts[at] = account;
    }
    return (actualAmounts) => {
      const endedAt = this.#clock.now();
      for (let at = 0; at < claims.length; at++) {
        const [claim, amount = 0] = [claims[at], amounts[at]];
        if (claim === undefined) continue;
        // Without a reserved amount, the account may have been dropped as idle.
        const account = amount === 0 ? this.#findOrCreate(claim) : accounts[at];
        const charge = actualAmounts === null ? 0 : chargeOf(claim, actualAmounts[at]);
        if (account instanceof Budget) {
          account.reservedHere = Math.max(0, account.reservedHere - amount);
          this.#spend(account, charge);
        } else if (claim.kind === "tokens" && account !== undefined) {
          account.reserved = Math.max(0, account.reserved - amount);
          account.charge(charge, claim.windowMs, false, endedAt);
        } else if (actualAmounts === null) account?.uncharge(now);
      }
    };
  }

  #findOrCreate(claim: Claim): Window | Budget {
    return claim.kind === "budget"
      ? this.#budgets.findOrCreate(claim)
      : this.#windows.findOrCreate(claim.key);
  }

  #sweepSometimes(now: number): void {
    this.#windows.sweepSometimes(now);
    if (++this.#calls % CALLS_PER_BUDGET_SWEEP === 0) this.#budgets.sweep(this.#clock.unixNow());
  }
}

function isBudget({ kind }: Claim): boolean {
  return kind === "budget";
}

function usedOf(claim: Claim, account: Window | Budget | undefined, now: number): number {
  if (account === undefined) return 0;
  if (account instanceof Budget) return account.used;
  return claim.kind === "budget" ? 0 : add(account.settled(claim.windowMs, now), account.reserved);
}

function resetOf(
  claim: Claim,
  account: Window | Budget | undefined,
  now: number,
  wallOffset: number,
): number | null {
  if (claim.kind === "budget") return claim.endsAt === null ? null : Math.ceil(claim.endsAt / 1000);
  const oldest = account instanceof Window ? account.oldest(claim.windowMs, now) : now;
  return Math.ceil((wallOffset + oldest + claim.windowMs) / 1000);
}

/** Returns the wait for a claim that does not fit. */
function waitOf(
  claim: Claim,
  amount: number,
  account: Window | Budget | undefined,
  now: number,
  unixMs: number,
): number {
  if (amount > claim.limit) return Infinity;
  if (claim.kind !== "budget")
    return account instanceof Window ? account.waitMs(amount, claim.limit, claim.windowMs, now) : 1;
  const spent = account instanceof Budget ? account.spent : 0;
  if (amount <= claim.limit - spent) return 1;
  return claim.endsAt === null ? Infinity : Math.max(1, Math.ceil(claim.endsAt - unixMs));
}

function amountsOf(budget: Budget | undefined): BudgetAmounts {
  return { spent: budget?.spent ?? 0, reserved: budget?.reserved ?? 0 };
}
