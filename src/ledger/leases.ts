// Renews the lease of this process in each gateway in which it has open reservations: one timer for all.
import type { Clock, ClockTimer } from "../base/clock.ts";
import { LEASE_MS } from "./ledger.ts";

/** Two renewals may be lost or late before a lease ends. */
const RENEWAL_MS = LEASE_MS / 3;

export class Leases {
  readonly #clock: Clock;
  readonly #renew: (gatewayId: string) => void;
  readonly #openByGateway = new Map<string, number>();
  #timer: ClockTimer | null = null;

  constructor(clock: Clock, renew: (gatewayId: string) => void) {
    this.#clock = clock;
    this.#renew = renew;
  }

  open(gatewayId: string): void {
    this.#openByGateway.set(gatewayId, (this.#openByGateway.get(gatewayId) ?? 0) + 1);
    if (this.#timer !== null) return;
    this.#timer = this.#clock.setInterval(() => this.#tick(), RENEWAL_MS);
    this.#timer.unref();
  }

  close(gatewayId: string): void {
    const open = (this.#openByGateway.get(gatewayId) ?? 1) - 1;
    if (open > 0) this.#openByGateway.set(gatewayId, open);
    else this.#openByGateway.delete(gatewayId);
  }

  stop(): void {
    this.#timer?.close();
    this.#timer = null;
    this.#openByGateway.clear();
  }

  #tick(): void {
    if (this.#openByGateway.size === 0) this.stop();
    for (const gatewayId of this.#openByGateway.keys()) this.#renew(gatewayId);
  }
}
