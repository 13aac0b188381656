// The reservations that this process holds, by gateway: their lease in Redis is renewed, and they are added again if Redis lost them. So is
// what was settled and is not in the database yet.
import type { Clock, ClockTimer } from "../base/clock.ts";
import { LEASE_MS, type BudgetClaim } from "./ledger.ts";
import type { OpenClaims } from "./redis-ledger-calls.ts";

/**
 * Many renewals may be lost or late before a lease ends. They also find out that Redis lost its data while no request of the gateway
 * arrived.
 */
const RENEWAL_MS = LEASE_MS / 10;

export interface HeldReservation extends OpenClaims {
  /** False if it was decided without Redis, and Redis does not have it yet. */
  isInRedis: boolean;
  isEnded: boolean;
}

interface HeldParts {
  readonly clock: Clock;
  /** Renews the lease of this process in a gateway. */
  readonly renew: (gatewayId: string) => void;
  /** Whether the database has all that this process has spent of a budget. */
  readonly isWritten: (claim: BudgetClaim) => boolean;
}

/** Claims on budgets by their names in Redis. */
type Accounts = Map<string, BudgetClaim>;

export class HeldReservations {
  readonly #parts: HeldParts;
  readonly #byGateway = new Map<string, Set<HeldReservation>>();
  /** By gateway: what may not be written yet. Those that are written are removed from time to time. */
  readonly #settled = new Map<string, Accounts>();
  #timer: ClockTimer | null = null;

  constructor(parts: HeldParts) {
    this.#parts = parts;
  }

  get gatewayIds(): Iterable<string> {
    return this.#byGateway.keys();
  }

  of(gatewayId: string): Iterable<HeldReservation> {
    return this.#byGateway.get(gatewayId) ?? [];
  }

  add(held: HeldReservation): void {
    let all = this.#byGateway.get(held.gatewayId);
    if (all === undefined) this.#byGateway.set(held.gatewayId, (all = new Set()));
    all.add(held);
    if (this.#timer !== null) return;
    this.#timer = this.#parts.clock.setInterval(() => this.#tick(), RENEWAL_MS);
    this.#timer.unref();
  }

  /** Call when it has ended. */
  remove(held: HeldReservation): void {
    const { gatewayId, claims, keys } = held;
    held.isEnded = true;
    const all = this.#byGateway.get(gatewayId);
    all?.delete(held);
    if (all?.size === 0) this.#byGateway.delete(gatewayId);
    for (const [at, claim] of claims.entries()) {
      if (claim.kind !== "budget") continue;
      let settled = this.#settled.get(gatewayId);
      if (settled === undefined) this.#settled.set(gatewayId, (settled = new Map<string, BudgetClaim>()));
      settled.set(keys[at] ?? "", claim);
    }
  }

  /** The budgets of which the database may not have all that was settled, by their names in Redis. */
  unwritten(gatewayId: string): Iterable<readonly [string, BudgetClaim]> {
    this.#forgetWritten(gatewayId);
    return this.#settled.get(gatewayId) ?? [];
  }

  stop(): void {
    this.#timer?.close();
    this.#timer = null;
    this.#byGateway.clear();
  }

  #forgetWritten(gatewayId: string): void {
    const settled = this.#settled.get(gatewayId);
    if (settled === undefined) return;
    for (const [key, claim] of settled) if (this.#parts.isWritten(claim)) settled.delete(key);
    if (settled.size === 0) this.#settled.delete(gatewayId);
  }

  #tick(): void {
    for (const gatewayId of [...this.#settled.keys()]) this.#forgetWritten(gatewayId);
    if (this.#byGateway.size === 0 && this.#settled.size === 0) this.stop();
    for (const gatewayId of this.#byGateway.keys()) this.#parts.renew(gatewayId);
  }
}
