// An open reservation of a ledger in memory: one object per request.
import type { Claim, ClaimState } from "./ledger.ts";
import type { Account } from "./memory-accounts.ts";
import { OpenReservation } from "./open-reservation.ts";

/** Gets the actual amounts, or null for a release. */
type EndReservation = (reservation: MemoryReservation, actualAmounts: readonly number[] | null) => void;

export class MemoryReservation extends OpenReservation {
  readonly states: readonly ClaimState[];
  readonly claims: readonly Claim[];
  /** By position of the claim; null if all of them are request limits. */
  readonly accounts: readonly (Account | undefined)[] | null;
  readonly reservedAt: number;
  /** Of the ledger, the same for all reservations. */
  readonly #end: EndReservation;

  constructor(
    states: readonly ClaimState[],
    claims: readonly Claim[],
    accounts: readonly (Account | undefined)[] | null,
    reservedAt: number,
    end: EndReservation,
  ) {
    super("memory");
    this.states = states;
    this.claims = claims;
    this.accounts = accounts;
    this.reservedAt = reservedAt;
    this.#end = end;
  }

  protected ended(actualAmounts: readonly number[] | null): void {
    this.#end(this, actualAmounts);
  }
}
