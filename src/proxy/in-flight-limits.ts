// Limits the requests that this process handles at the same time: in total, per client and per gateway, so that neither
// one client nor one gateway can take all of them.
import type { Clock } from "../base/clock.ts";
import { DenseSet, type DenseSetMember } from "../base/dense-set.ts";
import { GatehouseError } from "../base/errors.ts";
import { ipv6Groups } from "../base/ip-address.ts";
import type { Settings } from "../config/settings.ts";
import type { Log } from "../telemetry/log/log.ts";
import type { Exchange } from "./exchange.ts";

/** Rejections may occur by the thousand, so the log reports them together. */
const REPORT_INTERVAL_MS = 1000;

type InFlightSettings = Pick<
  Settings,
  "MAX_IN_FLIGHT" | "MAX_IN_FLIGHT_PER_CLIENT" | "MAX_IN_FLIGHT_PER_GATEWAY"
>;

/** The requests in flight by client and by gateway. */
interface Shares {
  readonly clients: Map<string, number>;
  readonly gateways: Map<string, number>;
}

type InFlightExchange = Pick<Exchange, "gateway"> & DenseSetMember;

export class InFlightLimits<E extends InFlightExchange = Exchange> {
  readonly total: number;
  readonly #perClient: number;
  readonly #perGateway: number;
  readonly #clientAddress: (exchange: E) => string;
  readonly #log: Log;
  readonly #clock: Clock;
  #count = 0;
  /** Called when a request has left; null if nothing waits for that. */
  onLeave: (() => void) | null = null;
  /** Rejections by the setting that caused them. */
  readonly #unreported = new Map<string, number>();
  /** The requests that `admit` has admitted. */
  readonly #admitted = new DenseSet<E>();
  /** Null while so few requests are in flight that no client and no gateway can have reached its limit. */
  #shares: Shares | null = null;

  constructor(settings: InFlightSettings, clientAddress: (exchange: E) => string, log: Log, clock: Clock) {
    this.total = settings.MAX_IN_FLIGHT;
    this.#perClient = settings.MAX_IN_FLIGHT_PER_CLIENT;
    this.#perGateway = settings.MAX_IN_FLIGHT_PER_GATEWAY;
    this.#clientAddress = clientAddress;
    this.#log = log;
    this.#clock = clock;
  }

  /** Returns false if the request must be rejected. Otherwise it is in flight until `leave`. */
  enter(): boolean {
    if (this.#count < this.total) {
      this.#count++;
      return true;
    }
    this.#countRejected("MAX_IN_FLIGHT", this.total);
    return false;
  }

  /** Call when the gateway is known and the client may use it. Throws a GatehouseError if either has too many requests. */
  admit(exchange: E): void {
    const lowest = Math.min(this.#perClient, this.#perGateway);
    if (this.#admitted.size >= lowest) this.#shares ??= this.#countShares();
    if (this.#shares !== null) this.#checkShares(this.#shares, exchange);
    this.#admitted.add(exchange);
  }

  /** How many requests are in flight. */
  get count(): number {
    return this.#count;
  }

  leave(exchange: E): void {
    this.#count--;
    this.#forget(exchange);
    this.onLeave?.();
  }

  #forget(exchange: E): void {
    if (!this.#admitted.delete(exchange) || this.#shares === null) return;
    add(this.#shares.clients, this.#clientOf(exchange), -1);
    add(this.#shares.gateways, gatewayOf(exchange), -1);
    // Half of the limit, so that the shares are not counted again and again around it.
    if (this.#admitted.size < Math.min(this.#perClient, this.#perGateway) / 2) this.#shares = null;
  }

  #countShares(): Shares {
    const shares: Shares = { clients: new Map(), gateways: new Map() };
    for (const exchange of this.#admitted.members) {
      add(shares.clients, this.#clientOf(exchange), 1);
      add(shares.gateways, gatewayOf(exchange), 1);
    }
    return shares;
  }

  #checkShares({ clients, gateways }: Shares, exchange: E): void {
    const client = this.#clientOf(exchange);
    const gateway = gatewayOf(exchange);
    if ((clients.get(client) ?? 0) >= this.#perClient)
      throw this.#rejection("client", "MAX_IN_FLIGHT_PER_CLIENT", this.#perClient);
    if ((gateways.get(gateway) ?? 0) >= this.#perGateway)
      throw this.#rejection("gateway", "MAX_IN_FLIGHT_PER_GATEWAY", this.#perGateway);
    add(clients, client, 1);
    add(gateways, gateway, 1);
  }

  /** An IPv6 client has a whole /64 network. */
  #clientOf(exchange: E): string {
    const address = this.#clientAddress(exchange);
    return address.includes(":") ? ipv6Groups(address).slice(0, 4).join(":") : address;
  }

  #rejection(who: "client" | "gateway", setting: string, limit: number): GatehouseError {
    this.#countRejected(setting, limit);
    const message = `This ${who} has ${limit} requests in flight (${setting}). Retry when some have finished.`;
    return new GatehouseError("concurrency_limit_exceeded", message, { headers: { "Retry-After": "1" } });
  }

  #countRejected(setting: string, limit: number): void {
    const count = (this.#unreported.get(setting) ?? 0) + 1;
    this.#unreported.set(setting, count);
    if (count > 1) return;
    const report = () => {
      const fields = { refused: this.#unreported.get(setting), limit };
      this.#unreported.delete(setting);
      this.#log.warn(fields, `requests rejected: ${setting} reached`);
    };
    this.#clock.setTimeout(report, REPORT_INTERVAL_MS).unref();
  }
}

function gatewayOf({ gateway }: InFlightExchange): string {
  return gateway?.id ?? "";
}

function add(counts: Map<string, number>, key: string, amount: number): void {
  const count = (counts.get(key) ?? 0) + amount;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}
