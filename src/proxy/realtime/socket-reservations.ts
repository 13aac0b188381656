// The token limits and budgets of a WebSocket: each response of the model is reserved before it starts and settled when it is done.
import { GatehouseError, type ErrorCode } from "../../base/errors.ts";
import { CLOSE } from "../../http/websocket/close-codes.ts";
import type { Refusal } from "../../ledger/ledger.ts";
import type { TokensLimitClaim } from "../../sdk/index.ts";
import type { CompiledGateway } from "../../snapshot/compile.ts";
import type { ChainLink } from "../../snapshot/chain-link.ts";
import type { Charge } from "../budgets/reserved-claims.ts";
import { planBudgets } from "../budgets/plan-budgets.ts";
import type { Reservations } from "../budgets/reservations.ts";
import type { PlannedClaim, ReservedClaims } from "../budgets/reserved-claims.ts";
import type { PermissionParts } from "../client-permission.ts";
import type { Exchange } from "../exchange.ts";
import { LimiterCall } from "../limits/limiter-call.ts";
import type { ClaimParts } from "../limits/reserve-claims.ts";
import { PluginCall, type PluginParts } from "../plugin-call.ts";

export interface SocketClaimParts extends ClaimParts, PluginParts, PermissionParts {
  readonly reservations: Reservations;
}

/** Why no further response may start. */
interface Exhausted {
  readonly code: ErrorCode;
  readonly closeCode: number;
  readonly reason: string;
}

interface Claims {
  readonly limits: readonly TokensLimitClaim[];
  readonly budgets: readonly PlannedClaim[];
}

/** The payload of a close frame has 125 bytes, of which the code takes two. */
const MAX_REASON_BYTES = 123;

export class SocketReservations {
  readonly #exchange: Exchange;
  readonly #parts: SocketClaimParts;
  readonly #onExhausted: (why: Exhausted) => void;
  /** What the next response has reserved, first of all in the handshake. Null if nothing limits it, or if it was refused. */
  #reserved: ReservedClaims | null;
  /** Responses that have ended and are not settled yet. */
  readonly #ended: Charge[] = [];
  #isSettling = false;
  /** No further response may start. */
  #isOver = false;

  /** Takes over what the handshake has reserved. */
  constructor(exchange: Exchange, parts: SocketClaimParts, onExhausted: (why: Exhausted) => void) {
    this.#exchange = exchange;
    this.#parts = parts;
    this.#onExhausted = onExhausted;
    this.#reserved = exchange.reserved;
    exchange.reserved = null;
  }

  /** Settles what the response has reserved, and reserves the next one. */
  responseEnded(charge: Charge): void {
    this.#ended.push(charge);
    if (!this.#isSettling) void this.#settleAll();
  }

  /** Call when the socket has ended, after the last `responseEnded`. */
  close(): void {
    this.#isOver = true;
    if (!this.#isSettling) this.#returnReserved();
  }

  async #settleAll(): Promise<void> {
    this.#isSettling = true;
    try {
      for (let charge = this.#ended.shift(); charge !== undefined; charge = this.#ended.shift()) {
        if (this.#reserved === null) await this.#chargeUnreserved(charge);
        else this.#settle(this.#reserved, [charge]);
        if (!this.#isOver) await this.#reserveNext();
      }
    } catch (error) {
      this.#fail(error);
    }
    this.#isSettling = false;
    if (this.#isOver) this.#returnReserved();
  }

  #settle(reserved: ReservedClaims, charges: readonly Charge[]): void {
    this.#reserved = null;
    this.#parts.reservations.settleWith(this.#exchange, reserved, charges);
  }

  #returnReserved(): void {
    if (this.#reserved !== null) this.#settle(this.#reserved, []);
  }

  async #reserveNext(): Promise<void> {
    const { limits, budgets } = await this.#claims();
    if (limits.length + budgets.length === 0) return;
    const decided = await this.#parts.reserveInLedger(this.#exchange, [...limits, ...budgets]);
    this.#parts.onBudgetsDecided(this.#exchange, budgets, decided, limits.length);
    if (decided.reserved)
      this.#reserved = { reservation: decided, limits, budgets, plannedFor: null, added: null };
    else this.#exhaust(decided, { limits, budgets });
  }

  /** A response that nothing was reserved for: several are generated at a time, or the limits were exhausted when it started. */
  async #chargeUnreserved(charge: Charge): Promise<void> {
    const { limits, budgets } = await this.#claims();
    // It has been generated: while Redis is unavailable, it is charged later, whatever the policy for new requests.
    const free = {
      limits: limits.map((claim) => ({ ...claim, amount: 0, onUnavailable: "open" as const })),
      budgets: budgets.map((claim) => ({ ...claim, amount: 0, onUnavailable: "open" as const })),
    };
    const claims = [...free.limits, ...free.budgets];
    if (claims.length === 0) return;
    const reservation = await this.#parts.reserveInLedger(this.#exchange, claims);
    if (reservation.reserved) this.#settle({ reservation, ...free, plannedFor: null, added: null }, [charge]);
  }

  /** With the limits and budgets of the current configuration: a socket can be open for hours. */
  async #claims(): Promise<Claims> {
    const { gateway, rule } = this.#exchange;
    const current = this.#parts.current.snapshot.gateways.get(gateway?.id ?? "") ?? null;
    if (current === null || rule === null) return { limits: [], budgets: [] };
    const limits = await this.#limitsOf(current);
    const budgets =
      current.budgets === null ? [] : await planBudgets(this.#exchange, rule, current.budgets, this.#parts);
    return { limits, budgets };
  }

  /** Requests, and tokens that are charged as reserved, count once per socket. */
  async #limitsOf({ chain }: CompiledGateway): Promise<TokensLimitClaim[]> {
    if (chain === null || chain.limiters === null) return [];
    const calls = this.#callsOf(chain.limiters);
    for (const call of calls) await call.ask();
    return calls
      .flatMap(({ claims }) => claims)
      .filter((claim) => claim.kind === "tokens")
      .filter(({ count }) => count !== "reserved");
  }

  /** The calls are not part of the telemetry of the handshake. */
  #callsOf(limiters: readonly ChainLink[]): LimiterCall[] {
    const { pluginRuns } = this.#exchange;
    this.#exchange.pluginRuns = null;
    const create = (link: ChainLink) => new PluginCall(this.#exchange, link, "pre_request", this.#parts);
    const calls = limiters.map((link) => new LimiterCall(create(link), this.#parts));
    this.#exchange.pluginRuns = pluginRuns;
    return calls;
  }

  #exhaust({ refusedBy, source }: Refusal, { limits, budgets }: Claims): void {
    if (source === "closed") {
      const reason = "Limits and budgets cannot be checked at the moment. Connect again later.";
      this.#end({ code: "counters_unavailable", closeCode: CLOSE.tryAgainLater, reason });
      return;
    }
    const budget = budgets[refusedBy - limits.length]?.budget;
    if (budget !== undefined) this.#parts.onBudgetRefusal(this.#exchange, budget);
    const what =
      budget === undefined
        ? `The limit ${limits[refusedBy]?.type ?? "of tokens"}`
        : `The budget "${budget.record.name}"`;
    const code = budget === undefined ? "token_limit_exceeded" : "budget_exceeded";
    const reason = `${what} has not enough left for another response.`;
    this.#end({ code, closeCode: CLOSE.policyViolation, reason });
  }

  #fail(error: unknown): void {
    if (error instanceof GatehouseError) {
      this.#end({ code: error.code, closeCode: CLOSE.policyViolation, reason: error.message });
      return;
    }
    const { requestId } = this.#exchange;
    this.#parts.log.error({ request_id: requestId, err: error }, "WebSocket failed with an internal error");
    this.#end({ code: "internal_error", closeCode: CLOSE.internalError, reason: "Internal error." });
  }

  #end(why: Exhausted): void {
    this.#isOver = true;
    const isSendable = Buffer.byteLength(why.reason) <= MAX_REASON_BYTES;
    this.#onExhausted(isSendable ? why : { ...why, reason: `${why.code}: see the log of the gateway.` });
  }
}
