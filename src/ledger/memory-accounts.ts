// The accounts of a ledger in memory: request limits, token limits, and budgets.
import { Budget, Budgets } from "./budgets.ts";
import { KeyDigest } from "./key-digest.ts";
import { amountOf } from "./claims.ts";
import type { Claim, RequestsClaim, TokensClaim, WindowTarget } from "./ledger.ts";
import { RequestLogs } from "./request-logs.ts";
import { add, Window } from "./window.ts";
import { Windows } from "./windows.ts";

export type Account = Window | Budget;

/** What one call finds out about one of its claims. Reused by the next call, because most requests have a few claims. */
export class ClaimCheck {
  readonly digest = new KeyDigest();
  /** The slot of a request limit in the logs, or -1. */
  slot = -1;
  /** The account of any other claim; undefined if nothing was ever counted. */
  account: Account | undefined = undefined;
  /** The amount to reserve. */
  amount = 0;
  /** Settled and reserved amounts before this call. */
  used = 0;
  fits = true;
}

export class MemoryAccounts {
  readonly budgets = new Budgets();
  readonly #requests: RequestLogs;
  readonly #windows: Windows;
  readonly #digest = new KeyDigest();

  constructor(maxKeys: number) {
    this.#requests = new RequestLogs(maxKeys);
    this.#windows = new Windows(maxKeys);
  }

  /** The number of windows and budgets. */
  get size(): number {
    return this.#requests.size + this.#windows.size + this.budgets.size;
  }

  /** Finds the account of a claim. Returns the settled and reserved amounts. */
  measure(check: ClaimCheck, claim: Claim, now: number): number {
    switch (claim.kind) {
      case "requests": {
        check.account = undefined;
        check.slot = this.#requests.find(check.digest.update(claim.key));
        return check.slot === -1 ? 0 : this.#requests.used(check.slot, claim.windowMs, now);
      }
      case "tokens": {
        const window = this.#windows.find(claim.key);
        check.account = window;
        check.slot = -1;
        return window === undefined ? 0 : add(window.settled(claim.windowMs, now), window.reserved);
      }
      case "budget": {
        const budget = this.budgets.find(claim);
        check.account = budget;
        return budget?.used ?? 0;
      }
    }
  }

  /** Returns what was settled in a window within the last milliseconds. */
  settledIn({ kind, key }: WindowTarget, lastMs: number, now: number): number {
    if (kind === "tokens") return this.#windows.find(key)?.settled(lastMs, now) ?? 0;
    const slot = this.#requests.find(this.#digest.update(key));
    return slot === -1 ? 0 : this.#requests.used(slot, lastMs, now);
  }

  /** Returns when the oldest settled amount of a limit leaves its window. */
  leavesAt({ slot, account, used }: ClaimCheck, claim: Claim, now: number): number {
    if (claim.kind === "budget") return now;
    const { windowMs } = claim;
    if (account instanceof Window) return account.oldest(windowMs, now) + windowMs;
    return (slot === -1 ? now : this.#requests.oldest(slot, used, windowMs, now)) + windowMs;
  }

  /** Returns the wait for a claim that does not fit. */
  waitMs({ slot, account, amount }: ClaimCheck, claim: Claim, now: number, unixMs: number): number {
    if (amount > claim.limit) return Infinity;
    if (claim.kind === "requests")
      return this.#requests.waitMs(slot, claim.limit - amount + 1, claim.windowMs, now);
    if (claim.kind === "tokens")
      return account instanceof Window ? account.waitMs(amount, claim.limit, claim.windowMs, now) : 1;
    const spent = account instanceof Budget ? account.spent : 0;
    if (amount <= claim.limit - spent) return 1;
    return claim.endsAt === null ? Infinity : Math.max(1, Math.ceil(claim.endsAt - unixMs));
  }

  /**
   * Counts the requests of a claim. `mayHaveMoved`: a new key was added since the claim was checked, which
   * may move the others.
   */
  append(
    { slot, digest, amount }: ClaimCheck,
    claim: RequestsClaim,
    mayHaveMoved: boolean,
    now: number,
  ): void {
    const place = mayHaveMoved ? this.#requests.findOrCreate(digest.words) : slot;
    for (let count = 0; count < amount; count++)
      this.#requests.append(place, now, claim.limit, claim.windowMs);
  }

  /** Removes the requests of a claim that were counted at `time`. */
  release(claim: RequestsClaim, time: number): void {
    const slot = this.#requests.find(this.#digest.update(claim.key));
    if (slot === -1) return;
    const amount = amountOf(claim);
    for (let count = 0; count < amount; count++) this.#requests.release(slot, time);
  }

  /** `checked` is the account that was found when the claim was checked. A new key may have evicted it. */
  reserveTokens({ key, amount }: TokensClaim, checked: Account | undefined): Window {
    const isKept = checked instanceof Window && !checked.isDropped;
    const window = isKept ? checked : this.#windows.findOrCreate(key);
    window.reserved = add(window.reserved, amount);
    return window;
  }

  settleTokens(claim: TokensClaim, account: Account | undefined, charge: number, now: number): void {
    const window = account instanceof Window ? account : undefined;
    this.settleWindow(claim, window, claim.amount, charge, now);
  }

  /** `reserved` is the amount to replace with the charge. */
  settleWindow(
    { key, windowMs }: TokensClaim,
    known: Window | undefined,
    reserved: number,
    charge: number,
    now: number,
  ): void {
    // Without a reserved amount, the window may have been dropped as idle.
    const isKept = known !== undefined && !known.isDropped;
    const window = isKept ? known : this.#windows.findOrCreate(key);
    window.reserved = Math.max(0, window.reserved - reserved);
    window.charge(charge, windowMs, false, now);
  }

  /** Returns the account of a claim; undefined if it is a request limit or nothing was ever counted. */
  find(claim: Claim): Account | undefined {
    if (claim.kind === "requests") return undefined;
    return claim.kind === "tokens" ? this.#windows.find(claim.key) : this.budgets.find(claim);
  }

  clear(target: WindowTarget): void {
    if (target.kind === "tokens") {
      this.#windows.find(target.key)?.clear();
      return;
    }
    const slot = this.#requests.find(this.#digest.update(target.key));
    if (slot !== -1) this.#requests.remove(slot);
  }

  /** Drops some windows that are idle. */
  sweep(now: number): void {
    this.#requests.sweep(now);
    this.#windows.sweep(now);
  }
}
