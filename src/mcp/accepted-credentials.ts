// The credentials of clients that servers have accepted lately. Only for these are connections kept, and only
// some for each client.
import { BoundedCache } from "../base/bounded-cache.ts";
import type { CacheOwner } from "./client-cache.ts";

/** Per client: at least this many, and at most twice as many. */
const KEPT = 25;
const KEPT_CLIENTS = 500;
const KEPT_GATEWAYS = 1000;

type OfClient = BoundedCache<string, string>;

export class AcceptedCredentials {
  readonly #gateways = new BoundedCache<string, BoundedCache<string, OfClient>>(KEPT_GATEWAYS);
  /** Closes the idle connections of a pool key. */
  readonly #forget: (poolKey: string) => void;

  constructor(forget: (poolKey: string) => void) {
    this.#forget = forget;
  }

  has(owner: CacheOwner, poolKey: string): boolean {
    return (
      this.#clientsOf(owner)
        ?.get(owner.client ?? "")
        ?.get(poolKey) !== undefined
    );
  }

  add(owner: CacheOwner, poolKey: string): void {
    let clients = this.#clientsOf(owner);
    if (clients === undefined) {
      clients = new BoundedCache<string, OfClient>(KEPT_CLIENTS, (evicted) => {
        for (const each of evicted.values()) this.#forget(each);
      });
      this.#gateways.set(owner.gatewayId, clients);
    }
    let own = clients.get(owner.client ?? "");
    if (own === undefined) {
      own = new BoundedCache<string, string>(KEPT, this.#forget);
      clients.set(owner.client ?? "", own);
    }
    own.set(poolKey, poolKey);
  }

  /** The server has refused the credential. */
  remove(owner: CacheOwner, poolKey: string): void {
    this.#clientsOf(owner)
      ?.get(owner.client ?? "")
      ?.delete(poolKey);
    this.#forget(poolKey);
  }

  #clientsOf({ gatewayId }: CacheOwner): BoundedCache<string, OfClient> | undefined {
    return this.#gateways.get(gatewayId);
  }
}
