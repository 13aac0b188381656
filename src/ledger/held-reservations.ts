// The reservations that this process holds, by gateway: their lease in Redis is renewed, and they are added again if Redis lost them. So is
// what was settled, until no later comparison of Redis with the database can miss it.
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
  /** Renews the lease of this process in a gateway, and calls `confirm` if Redis has replied. */
  readonly renew: (gatewayId: string) => void;
  /** What the database does not have of what this process has spent of a budget; undefined for one whose period ended long ago. */
  readonly unwrittenOf: (claim: BudgetClaim) => number | undefined;
}

/** A budget of which something was settled, and its name in Redis. Each settlement has another object. */
interface SettledBudget {
  readonly key: string;
  readonly claim: BudgetClaim;
}

export class HeldReservations {
  readonly #parts: HeldParts;
  readonly #byGateway = new Map<string, Set<HeldReservation>>();
  /** By gateway and key: what was not confirmed since it was written to the database. */
  readonly #settled = new Map<string, Map<string, SettledBudget>>();
  #timer: ClockTimer | null = null;

  constructor(parts: HeldParts) {
    this.#parts = parts;
  }

  get gatewayIds(): Iterable<string> {
    return this.#byGateway.keys();
  }

  /** Those with budgets to report: see `settled`. */
  get settledIn(): Iterable<string> {
    return this.#settled.keys();
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
      if (settled === undefined) this.#settled.set(gatewayId, (settled = new Map<string, SettledBudget>()));
      const key = keys[at] ?? "";
      settled.set(key, { key, claim });
    }
  }

  /**
   * The budgets to report after Redis has lost data: another process may have read the database before it had what was settled, and set Redis
   * to that.
   */
  settled(gatewayId: string): Iterable<SettledBudget> {
    return this.#settled.get(gatewayId)?.values() ?? [];
  }

  /** Returns those that the database has. Call before a command is sent to Redis, and `confirm` with them when Redis has replied. */
  written(gatewayId: string): readonly SettledBudget[] {
    return [...this.settled(gatewayId)].filter(({ claim }) => (this.#parts.unwrittenOf(claim) ?? 0) === 0);
  }

  /** Redis has not lost data before they were written: processes that read the database after a later loss find them there. */
  confirm(gatewayId: string, written: readonly SettledBudget[]): void {
    const settled = this.#settled.get(gatewayId);
    // Otherwise more was settled meanwhile.
    for (const each of written) if (settled?.get(each.key) === each) settled.delete(each.key);
    if (settled?.size === 0) this.#settled.delete(gatewayId);
  }

  stop(): void {
    this.#timer?.close();
    this.#timer = null;
    this.#byGateway.clear();
  }

  /** Bounds what is kept while Redis is unavailable, because nothing is confirmed then. */
  #forgetOld(gatewayId: string): void {
    const old = [...this.settled(gatewayId)].filter(
      ({ claim }) => this.#parts.unwrittenOf(claim) === undefined,
    );
    this.confirm(gatewayId, old);
  }

  #tick(): void {
    for (const gatewayId of [...this.#settled.keys()]) this.#forgetOld(gatewayId);
    if (this.#byGateway.size === 0 && this.#settled.size === 0) this.stop();
    for (const gatewayId of new Set([...this.#byGateway.keys(), ...this.#settled.keys()]))
      this.#parts.renew(gatewayId);
  }
}
