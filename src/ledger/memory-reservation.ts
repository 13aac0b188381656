// An open reservation of a ledger in memory: one object per request.
import type { Claim, ClaimState, Reservation } from "./ledger.ts";
import type { Account } from "./memory-accounts.ts";

/** Gets the actual amounts, or null for a release. */
type EndReservation = (reservation: MemoryReservation, actualAmounts: readonly number[] | null) => void;

export class MemoryReservation implements Reservation {
  readonly reserved = true;
  readonly source = "memory";
  readonly states: readonly ClaimState[];
  readonly claims: readonly Claim[];
  /** By position of the claim; null if all of them are request limits. */
  readonly accounts: readonly (Account | undefined)[] | null;
  readonly reservedAt: number;
  /** Null after the end. */
  #end: EndReservation | null;

  constructor(
    states: readonly ClaimState[],
    claims: readonly Claim[],
    accounts: readonly (Account | undefined)[] | null,
    reservedAt: number,
    end: EndReservation,
  ) {
    this.states = states;
    this.claims = claims;
    this.accounts = accounts;
    this.reservedAt = reservedAt;
    this.#end = end;
  }

  get isOpen(): boolean {
    return this.#end !== null;
  }

  settle(actualAmounts: readonly number[]): void {
    this.#endWith(actualAmounts);
  }

  release(): void {
    this.#endWith(null);
  }

  #endWith(actualAmounts: readonly number[] | null): void {
    const end = this.#end;
    this.#end = null;
    end?.(this, actualAmounts);
  }
}
