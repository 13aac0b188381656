// The token limits and budgets of a WebSocket: each response of the model is reserved before it starts and settled when it is done. Those that
// the client asks for have reservations of their own; one more is kept ready for a response that the provider starts by itself.
import { GatehouseError } from "../../base/errors.ts";
import { CLOSE } from "../../http/websocket/close-codes.ts";
import type { Refusal, Reservation } from "../../ledger/ledger.ts";
import type { Reservations } from "../budgets/reservations.ts";
import { reservedClaims, type Charge, type ReservedClaims } from "../budgets/reserved-claims.ts";
import type { Exchange } from "../exchange.ts";
import {
  TurnClaims,
  type Claims,
  type Rejection,
  type TurnClaimParts,
  type TurnSize,
} from "./turn-claims.ts";

export interface SocketClaimParts extends TurnClaimParts {
  readonly reservations: Reservations;
}

/** Why a response may not start. */
export interface Exhausted {
  readonly code: string;
  readonly closeCode: number;
  readonly reason: string;
}

/** A response of the model, as far as its reservation is concerned. */
interface Reserving {
  /** Null if nothing limits it, or if nothing is reserved for it. */
  reserved: ReservedClaims | null;
}

/** What the reservations need to know of the responses of the socket. */
interface SocketState {
  /** The size of a response that the provider starts now. */
  nextSize(): TurnSize;
  /** Whether no response is being generated or was asked for. */
  readonly isIdle: boolean;
  /** No further response may start: the socket has to be closed. */
  onExhausted(why: Exhausted): void;
}

/** The estimated input may grow by as much before what is kept ready is reserved again. */
const READY_GROWTH = 1.25;
const READY_GROWTH_TOKENS = 256;

export class SocketReservations {
  readonly #exchange: Exchange;
  readonly #parts: SocketClaimParts;
  readonly #state: SocketState;
  readonly #claims: TurnClaims;
  /** For the next response that the provider starts by itself, first of all from the handshake. */
  #ready: ReservedClaims | null;
  #readyInput = 0;
  /** Nothing more is reserved. */
  #isOver = false;
  /** Changes are made one after the other, in the order of the events of the socket. */
  #lastChange: Promise<unknown> = Promise.resolve();

  /** Takes over what the handshake has reserved. */
  constructor(exchange: Exchange, parts: SocketClaimParts, state: SocketState) {
    this.#exchange = exchange;
    this.#parts = parts;
    this.#state = state;
    this.#ready = exchange.reserved;
    this.#claims = new TurnClaims(exchange, parts, exchange.reserved);
    exchange.reserved = null;
  }

  /** Whether anything limits the responses of the socket. */
  get areNeeded(): boolean {
    return this.#claims.areNeeded;
  }

  /** Reserves a response that the client asks for. Resolves to why it may not start, or to null. Never rejects. */
  reserveFor(turn: Reserving, size: TurnSize): Promise<Exhausted | null> {
    return this.#inTurn(async () => {
      try {
        return await this.#reserve(turn, size);
      } catch (error) {
        return this.#failureOf(error);
      }
    });
  }

  /** Call when the provider has started a response that the client did not ask for. */
  startedByProvider(turn: Reserving): void {
    void this.#inTurn(async () => {
      turn.reserved = this.#ready;
      this.#ready = null;
      if (turn.reserved !== null || this.#isOver || !this.areNeeded) return;
      // Several at a time: it is stopped if it does not fit.
      const why = await this.#reserve(turn, this.#state.nextSize());
      if (why !== null) this.#end(why);
    });
  }

  /** Settles what a response has reserved, and keeps the next one ready. */
  ended(turn: Reserving, charge: Charge): void {
    void this.#inTurn(async () => {
      const { reserved } = turn;
      turn.reserved = null;
      await this.#charge(reserved, charge);
      await this.#renewReady();
    });
  }

  /** Charges what the provider has generated beside the responses. */
  charge(charge: Charge): void {
    void this.#inTurn(async () => {
      const ready = this.#ready;
      this.#ready = null;
      await this.#charge(ready, charge);
      await this.#renewReady();
    });
  }

  /** Returns what was reserved for a response that does not start. */
  returned(turn: Reserving): void {
    void this.#inTurn(async () => {
      const { reserved } = turn;
      turn.reserved = null;
      if (reserved !== null) this.#settle(reserved, []);
      if (this.#ready === null) await this.#renewReady();
    });
  }

  /** Resolves when what is kept ready covers the estimated input, or nothing more can be reserved. Never rejects. */
  async cover({ inputTokens }: TurnSize): Promise<void> {
    if (this.#covers(inputTokens)) return;
    await this.#inTurn(async () => {
      if (!this.#covers(inputTokens)) await this.#renewReady();
    });
  }

  /** Call when the socket has ended, after the last `ended`. */
  close(): void {
    this.#isOver = true;
    void this.#inTurn(() => {
      this.#returnReady();
      return Promise.resolve();
    });
  }

  /** Without something that is kept ready, the next response is reserved when it starts. */
  #covers(inputTokens: number): boolean {
    return this.#ready === null || inputTokens <= this.#readyInput * READY_GROWTH + READY_GROWTH_TOKENS;
  }

  /** An error ends the socket, and the changes that follow are made nevertheless: what was generated is charged. */
  #inTurn<T>(change: () => Promise<T>): Promise<T | null> {
    const done = this.#lastChange.then(change).catch((error: unknown) => {
      this.#end(this.#failureOf(error));
      return null;
    });
    this.#lastChange = done;
    return done;
  }

  #settle(reserved: ReservedClaims, charges: readonly Charge[]): void {
    this.#parts.reservations.settleWith(this.#exchange, reserved, charges);
  }

  #returnReady(): void {
    const ready = this.#ready;
    this.#ready = null;
    // Not released: the requests of the handshake stay counted.
    if (ready !== null) this.#settle(ready, []);
  }

  /** Nothing was reserved for a response that was running when a limit was added, or that the provider started although nothing was left. */
  async #charge(reserved: ReservedClaims | null, charge: Charge): Promise<void> {
    if (reserved !== null) {
      this.#settle(reserved, [charge]);
      return;
    }
    const { limits, budgets } = await this.#claims.claimsToCharge();
    if (limits.length + budgets.length === 0) return;
    const decided = await this.#parts.reserveInLedger(this.#exchange, [...limits, ...budgets]);
    if (decided.reserved) this.#settle(reservedWith({ limits, budgets }, decided), [charge]);
  }

  async #reserve(turn: Reserving, size: TurnSize): Promise<Exhausted | null> {
    if (this.#isOver) return CLOSED;
    const claims = await this.#claims.claimsFor(size);
    if (!("limits" in claims)) return rejectedBy(claims);
    const decided = await this.#decide(claims);
    if (decided === null) return null;
    if (!decided.reserved) return this.#exhaustedBy(decided, claims);
    turn.reserved = reservedWith(claims, decided);
    return null;
  }

  /** The socket is closed if nothing is left, unless a response is running: what it has reserved may be more than it uses. */
  async #renewReady(): Promise<void> {
    if (this.#isOver) return;
    const why = this.areNeeded ? await this.#reserveReady(this.#state.nextSize()) : null;
    if (!this.areNeeded || why !== null) this.#returnReady();
    if (why !== null && this.#state.isIdle) this.#end(why());
  }

  /** Resolves to a function that returns why nothing is kept ready, or to null. */
  async #reserveReady(size: TurnSize): Promise<(() => Exhausted) | null> {
    try {
      const claims = await this.#claims.claimsFor(size);
      if (!("limits" in claims)) return () => rejectedBy(claims);
      const decided = await this.#decide(claims);
      if (decided?.reserved === false) return () => this.#exhaustedBy(decided, claims);
      this.#returnReady();
      this.#ready = decided === null ? null : reservedWith(claims, decided);
      this.#readyInput = size.inputTokens;
      return null;
    } catch (error) {
      return () => this.#failureOf(error);
    }
  }

  /** What is kept ready may be what the response lacks. Resolves to null if there is nothing to reserve. */
  async #decide(claims: Claims): Promise<Reservation | Refusal | null> {
    if (claims.limits.length + claims.budgets.length === 0) return null;
    const decided = await this.#decideOnce(claims);
    if (decided.reserved || this.#ready === null) return decided;
    this.#returnReady();
    return this.#decideOnce(claims);
  }

  async #decideOnce({ limits, budgets }: Claims): Promise<Reservation | Refusal> {
    const decided = await this.#parts.reserveInLedger(this.#exchange, [...limits, ...budgets]);
    this.#parts.onBudgetsDecided(this.#exchange, budgets, decided, limits.length);
    return decided;
  }

  #exhaustedBy({ refusedBy, source }: Refusal, { limits, budgets }: Claims): Exhausted {
    if (source === "closed") {
      const reason = "Limits and budgets cannot be checked at the moment. Connect again later.";
      return { code: "counters_unavailable", closeCode: CLOSE.tryAgainLater, reason };
    }
    const budget = budgets[refusedBy - limits.length]?.budget;
    if (budget !== undefined) this.#parts.onBudgetRefusal(this.#exchange, budget);
    const what =
      budget === undefined
        ? `The limit ${limits[refusedBy]?.type ?? "of tokens"}`
        : `The budget "${budget.record.name}"`;
    const code = budget === undefined ? "token_limit_exceeded" : "budget_exceeded";
    const reason = `${what} has not enough left for another response.`;
    return { code, closeCode: CLOSE.policyViolation, reason };
  }

  #failureOf(error: unknown): Exhausted {
    if (error instanceof GatehouseError)
      return { code: error.code, closeCode: CLOSE.policyViolation, reason: error.message };
    const { requestId } = this.#exchange;
    this.#parts.log.error({ request_id: requestId, err: error }, "WebSocket failed with an internal error");
    return { code: "internal_error", closeCode: CLOSE.internalError, reason: "Internal error." };
  }

  #end(why: Exhausted): void {
    this.#isOver = true;
    this.#state.onExhausted(why);
  }
}

const CLOSED: Exhausted = {
  code: "budget_exceeded",
  closeCode: CLOSE.policyViolation,
  reason: "The socket is being closed.",
};

function rejectedBy({ code, reason }: Rejection): Exhausted {
  return { code, closeCode: CLOSE.policyViolation, reason };
}

function reservedWith({ limits, budgets }: Claims, reservation: Reservation): ReservedClaims {
  return reservedClaims(reservation, limits, budgets);
}
