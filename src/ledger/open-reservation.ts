// A reservation that ends once: settled with the actual amounts, or released.
import type { ClaimState, LedgerSource, Reservation } from "./ledger.ts";

export abstract class OpenReservation implements Reservation {
  readonly reserved = true;
  abstract readonly states: readonly ClaimState[];
  readonly source: LedgerSource;
  #isOpen = true;

  constructor(source: LedgerSource) {
    this.source = source;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  settle(actualAmounts: readonly number[]): void {
    this.#end(actualAmounts);
  }

  release(): void {
    this.#end(null);
  }

  /** Called once. Null: it was released. */
  protected abstract ended(actualAmounts: readonly number[] | null): void;

  #end(actualAmounts: readonly number[] | null): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.ended(actualAmounts);
  }
}

type End = (actualAmounts: readonly number[] | null) => void;

/** A reservation with a function for its end. */
export class ReservationWithEnd extends OpenReservation {
  readonly states: readonly ClaimState[];
  protected readonly ended: End;

  constructor(states: readonly ClaimState[], source: LedgerSource, ended: End) {
    super(source);
    this.states = states;
    this.ended = ended;
  }
}
