// Resolves the host names of providers and rejects link-local and metadata addresses. The gateway connects to the
// addresses checked here, so a name that resolves differently a moment later (DNS rebinding) gains nothing.
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { BoundedCache } from "../base/bounded-cache.ts";
import type { Clock } from "../base/clock.ts";
import { isForbiddenAddress, isForbiddenHost } from "../base/forbidden-address.ts";
import { UpstreamError } from "./upstream-error.ts";

const CACHE_MS = 30_000;
const CACHED_HOSTS = 1000;

interface CachedAddresses {
  readonly addresses: readonly string[];
  readonly expiresAt: number;
}

/** Caches resolved addresses for 30 seconds. */
export class HostResolver {
  readonly #cache = new BoundedCache<string, CachedAddresses>(CACHED_HOSTS);
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the addresses of a host in the order in which to try them. Rejects with an UpstreamError. */
  async resolve(host: string): Promise<readonly string[]> {
    const cached = this.#cache.get(host);
    if (cached !== undefined && cached.expiresAt > this.#clock.now()) return cached.addresses;
    const addresses = await resolveHost(host);
    this.#cache.set(host, { addresses, expiresAt: this.#clock.now() + CACHE_MS });
    return addresses;
  }
}

/** Resolves a host name or IP address without a cache. Rejects with an UpstreamError. */
export async function resolveHost(host: string): Promise<readonly string[]> {
  const addresses = isIP(host) === 0 ? await lookUp(host) : [host];
  if (addresses.some(isForbiddenAddress)) throw new UpstreamError("forbidden");
  return addresses;
}

async function lookUp(name: string): Promise<string[]> {
  if (isForbiddenHost(name)) throw new UpstreamError("forbidden");
  try {
    const found = await lookup(name, { all: true });
    return found.map(({ address }) => address);
  } catch (cause) {
    throw new UpstreamError("unreachable", cause);
  }
}
