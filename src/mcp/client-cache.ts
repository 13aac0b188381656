// Keeps what servers have sent, and which sessions have ended, by gateway and client, within bounds in bytes: a client that
// invents credentials, or ends many sessions, replaces only what was kept for itself.
import type { Clock, ClockTimer } from "../base/clock.ts";

const SWEEP_MS = 30_000;
/**
 * Per gateway. What was fetched with the credential of the configuration serves all clients, and is counted
 * apart.
 */
const SHARED_BYTES = 64 * 1024 * 1024;
const ALL_CLIENTS_BYTES = 32 * 1024 * 1024;
const CLIENT_BYTES = 8 * 1024 * 1024;
/** Memory of an entry beside its value. */
const ENTRY_BYTES = 1024;

/** Whom a value is kept for. */
export interface CacheOwner {
  readonly gatewayId: string;
  /** Null: the value was fetched with the credential of the configuration. */
  readonly client: string | null;
}

interface Entry<V> {
  readonly value: V;
  readonly bytes: number;
  /** A time of the clock. */
  readonly until: number;
}

/** The entries of one client. The least recently used one is first. */
class Share<V> {
  readonly entries = new Map<string, Entry<V>>();
  bytes = 0;

  remove(key: string): void {
    this.bytes -= this.entries.get(key)?.bytes ?? 0;
    this.entries.delete(key);
  }

  removeOldest(): void {
    for (const key of this.entries.keys()) {
      this.remove(key);
      return;
    }
  }
}

export class ClientCache<V> {
  readonly #clock: Clock;
  /** By gateway, then by client. */
  readonly #gateways = new Map<string, Map<string | null, Share<V>>>();
  #timer: ClockTimer | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get({ gatewayId, client }: CacheOwner, key: string): V | undefined {
    const share = this.#gateways.get(gatewayId)?.get(client);
    const entry = share?.entries.get(key);
    if (share === undefined || entry === undefined) return undefined;
    share.entries.delete(key);
    if (entry.until <= this.#clock.now()) {
      share.bytes -= entry.bytes;
      return undefined;
    }
    share.entries.set(key, entry);
    return entry.value;
  }

  /** Keeps nothing that is larger than the share of its owner. */
  set({ gatewayId, client }: CacheOwner, key: string, value: V, size: number, until: number): void {
    const bytes = size + ENTRY_BYTES;
    const limit = client === null ? SHARED_BYTES : CLIENT_BYTES;
    this.delete({ gatewayId, client }, key);
    if (bytes > limit || until <= this.#clock.now()) return;
    const shares = this.#sharesOf(gatewayId);
    let share = shares.get(client);
    if (share === undefined) shares.set(client, (share = new Share()));
    share.entries.set(key, { value, bytes, until });
    share.bytes += bytes;
    while (share.bytes > limit) share.removeOldest();
    if (client !== null) shrink(shares);
    this.#timer ??= this.#clock.setInterval(() => this.#sweep(), SWEEP_MS);
    this.#timer.unref();
  }

  delete({ gatewayId, client }: CacheOwner, key: string): void {
    this.#gateways.get(gatewayId)?.get(client)?.remove(key);
  }

  #sharesOf(gatewayId: string): Map<string | null, Share<V>> {
    let shares = this.#gateways.get(gatewayId);
    if (shares === undefined) {
      shares = new Map<string | null, Share<V>>();
      this.#gateways.set(gatewayId, shares);
    }
    return shares;
  }

  #sweep(): void {
    const now = this.#clock.now();
    for (const [gatewayId, shares] of this.#gateways) {
      for (const [client, share] of shares) {
        for (const [key, { until }] of share.entries) if (until <= now) share.remove(key);
        if (share.entries.size === 0) shares.delete(client);
      }
      if (shares.size === 0) this.#gateways.delete(gatewayId);
    }
    if (this.#gateways.size > 0) return;
    this.#timer?.close();
    this.#timer = null;
  }
}

/** The client that has most gives up its oldest entries. */
function shrink<V>(shares: ReadonlyMap<string | null, Share<V>>): void {
  for (;;) {
    let total = 0;
    let largest: Share<V> | null = null;
    for (const [client, share] of shares) {
      if (client === null) continue;
      total += share.bytes;
      if (largest === null || share.bytes > largest.bytes) largest = share;
    }
    if (total <= ALL_CLIENTS_BYTES || largest === null) return;
    largest.removeOldest();
  }
}
