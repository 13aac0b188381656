// The reservations that this process holds, by gateway: their lease in Redis is renewed, and they are added again if Redis lost them.
import type { Clock, ClockTimer } from "../base/clock.ts";
import { LEASE_MS } from "./ledger.ts";
import type { OpenClaims } from "./redis-ledger-calls.ts";

/**
 * Many renewals may be lost or late before a lease ends. They also find out that Redis lost its data while no request of the gateway
 * arrived.
 */
const RENEWAL_MS = LEASE_MS / 10;

export interface HeldReservation extends OpenClaims {
  /** False if it was decided without Redis, and Redis does not have it yet. */
  isInRedis: boolean;
}

export class HeldReservations {
  readonly #clock: Clock;
  readonly #renew: (gatewayId: string) => void;
  readonly #byGateway = new Map<string, Set<HeldReservation>>();
  #timer: ClockTimer | null = null;

  constructor(clock: Clock, renew: (gatewayId: string) => void) {
    this.#clock = clock;
    this.#renew = renew;
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
    this.#timer = this.#clock.setInterval(() => this.#tick(), RENEWAL_MS);
    this.#timer.unref();
  }

  remove(held: HeldReservation): void {
    const all = this.#byGateway.get(held.gatewayId);
    all?.delete(held);
    if (all?.size === 0) this.#byGateway.delete(held.gatewayId);
  }

  stop(): void {
    this.#timer?.close();
    this.#timer = null;
    this.#byGateway.clear();
  }

  #tick(): void {
    if (this.#byGateway.size === 0) this.stop();
    for (const gatewayId of this.#byGateway.keys()) this.#renew(gatewayId);
  }
}
