// The places where providers are: for each its idle connections, kept for the next request, the requests that wait for one,
// and the connecting.
import { addressesOf } from "./address-guard.ts";
import type { Connection } from "./connection.ts";
import { type ConnectionOwner } from "./connection.ts";
import { connectToFirst } from "./dial.ts";
import { HeaderFieldCache } from "./header-field-cache.ts";
import type { UpstreamError } from "./upstream-error.ts";

/** Of one origin. The runtime's own pool has 64, too few for requests that take seconds. */
const MAX_IDLE = 1024;
const MAX_ORIGINS = 1000;
const IDLE_MS = 60_000;
/** Of a connection that has carried no request yet. */
const SPARE_MS = 2000;
const SWEEP_MS = 5000;
/**
 * The runtime cannot give up a connection that it is still opening, and the system tries for two minutes: at an address
 * that swallows everything they would pile up. So there are that many at once, and where one is overdue a further one
 * only now and then, which is what finds out that the provider is back.
 */
const MAX_DIALS = 512;
const OVERDUE_MS = 3000;
const PROBE_EVERY_MS = 250;

/** A request that has no connection yet. */
export interface Waiter {
  onConnection(connection: Connection): void;
  onFault(error: UpstreamError): void;
}

/** A connection that is being opened for a request, which may have left or found another one meanwhile. */
interface Dial {
  readonly since: number;
  /** Its request got a connection that another one was done with. */
  isSpare: boolean;
}

export class Origin implements ConnectionOwner {
  /** As the Host header names it. */
  readonly host: string;
  /** Of the base URL: the path of every request begins with it. */
  readonly basePath: string;
  readonly knownLines = new HeaderFieldCache();
  readonly #hostname: string;
  readonly #port: number;
  readonly #isSecure: boolean;
  /** The one used last is at the end and goes out first, so that those too many grow old. */
  readonly #idle: Connection[] = [];
  /** In their order, each with the connection that is being opened for it, if any. */
  readonly #waiting = new Map<Waiter, Dial | null>();
  /** Oldest first. */
  readonly #dials = new Set<Dial>();
  #lastDialAt = -Infinity;

  constructor(baseUrl: string) {
    const { protocol, host, hostname, port, pathname } = new URL(baseUrl);
    this.#isSecure = protocol === "https:";
    this.#port = port === "" ? (this.#isSecure ? 443 : 80) : Number(port);
    this.#hostname = hostname.replace(/^\[|\]$/g, "");
    this.host = host;
    this.basePath = pathname.replace(/\/$/, "");
  }

  takeIdle(): Connection | null {
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      if (idle.isOpen && idle.idleUntil > performance.now()) return idle;
      idle.close();
    }
    return null;
  }

  /** Gives the waiter a connection as soon as there is one: a new one, or one that another request is done with. */
  wait(waiter: Waiter): void {
    this.#waiting.set(waiter, null);
    if (this.#mayDial()) void this.#dialFor(waiter);
  }

  leave(waiter: Waiter): void {
    this.#waiting.delete(waiter);
  }

  onIdle(connection: Connection, idleMs: number | null): void {
    const [waiter] = this.#waiting.size > 0 ? this.#waiting.keys() : [];
    if (waiter !== undefined) this.#give(connection, waiter);
    else if (this.#idle.length >= MAX_IDLE) connection.close();
    else {
      connection.idleUntil = performance.now() + Math.min(idleMs ?? IDLE_MS, IDLE_MS);
      this.#idle.push(connection);
      startSweeping();
    }
  }

  /** Closes what has been idle for too long; tells whether any is left. */
  sweep(now: number): boolean {
    const kept = this.#idle.filter((connection) => {
      if (connection.isOpen && connection.idleUntil > now) return true;
      connection.close();
      return false;
    });
    this.#idle.length = 0;
    this.#idle.push(...kept);
    return kept.length > 0;
  }

  #give(connection: Connection, waiter: Waiter): void {
    const dial = this.#waiting.get(waiter) ?? null;
    if (dial !== null) dial.isSpare = true;
    this.#waiting.delete(waiter);
    waiter.onConnection(connection);
  }

  #mayDial(): boolean {
    const now = performance.now();
    const [oldest] = this.#dials;
    const isOverdue = oldest !== undefined && now - oldest.since > OVERDUE_MS;
    if (this.#dials.size < MAX_DIALS && !isOverdue) return true;
    return now - this.#lastDialAt > PROBE_EVERY_MS;
  }

  async #dialFor(waiter: Waiter): Promise<void> {
    const dial: Dial = { since: performance.now(), isSpare: false };
    this.#waiting.set(waiter, dial);
    this.#dials.add(dial);
    this.#lastDialAt = dial.since;
    try {
      const addresses = await addressesOf(this.#hostname);
      const serverName = this.#isSecure ? this.#hostname : null;
      const connection = await connectToFirst(addresses, this.#port, serverName, this);
      this.#dials.delete(dial);
      if (this.#waiting.has(waiter)) this.#give(connection, waiter);
      // So many are asked for at once: without it the next one would open another. Unused, it goes soon.
      else if (dial.isSpare || this.#waiting.size > 0) this.onIdle(connection, SPARE_MS);
      // Whoever wanted it has left, and nobody waits: what is kept is what has proved to be of use.
      else connection.close();
    } catch (error) {
      this.#dials.delete(dial);
      if (this.#waiting.delete(waiter)) waiter.onFault(error as UpstreamError);
    }
    for (const [next, own] of this.#waiting) {
      if (own !== null) continue;
      if (this.#mayDial()) void this.#dialFor(next);
      break;
    }
  }
}

const origins = new Map<string, Origin>();
let sweeper: Timer | null = null;

export function originOf(baseUrl: string): Origin {
  let origin = origins.get(baseUrl);
  if (origin === undefined) {
    if (origins.size >= MAX_ORIGINS) forgetAll();
    origin = new Origin(baseUrl);
    origins.set(baseUrl, origin);
  }
  return origin;
}

/** Those in use give their connections back to an origin that nobody asks any more, where they grow old. */
function forgetAll(): void {
  for (const origin of origins.values()) origin.sweep(Infinity);
  origins.clear();
}

function startSweeping(): void {
  if (sweeper !== null) return;
  sweeper = setInterval(() => {
    const now = performance.now();
    let isAnyLeft = false;
    for (const origin of origins.values()) isAnyLeft = origin.sweep(now) || isAnyLeft;
    if (isAnyLeft || sweeper === null) return;
    clearInterval(sweeper);
    sweeper = null;
  }, SWEEP_MS);
  sweeper.unref();
}
