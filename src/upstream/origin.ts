// The connections to one provider address that requests of one gateway with one credential share: the idle ones, and the
// requests that wait for one.
import type { Clock } from "../base/clock.ts";
import type { CoarseDeadlines } from "../http/coarse-deadlines.ts";
import type { Connection, ConnectionOwner } from "./connection.ts";
import { connectToFirst } from "./dial.ts";
import type { HeaderFieldCache } from "../http/header-field-cache.ts";
import type { HostResolver } from "./host-resolver.ts";
import type { Dial, ProviderAddress } from "./provider-address.ts";
import type { StatusLine } from "./response-headers.ts";
import { UpstreamError } from "./upstream-error.ts";

/** Per origin. Bun's own pool keeps 64, which is too few for requests that take seconds. */
const MAX_IDLE = 1024;
const IDLE_MS = 60_000;
/** Idle time of a connection that has not carried a request yet. */
const UNUSED_IDLE_MS = 2000;

/** A request that has no connection yet. */
export interface ConnectionWaiter {
  onConnection(connection: Connection): void;
  onError(error: UpstreamError): void;
}

export class Origin implements ConnectionOwner {
  /** The key of the pool under which this origin is found. */
  readonly key: string;
  readonly address: ProviderAddress;
  readonly deadlines: CoarseDeadlines;
  readonly #clock: Clock;
  readonly #resolver: HostResolver;
  /** The most recently used connection is last and is reused first, so that surplus connections expire. */
  readonly #idle: Connection[] = [];
  /** In order of arrival, each with the connection attempt started for it, if any. */
  readonly #waiting = new Map<ConnectionWaiter, Dial | null>();
  #usedAt: number;
  #isClosed = false;

  constructor(key: string, address: ProviderAddress, resolver: HostResolver, deadlines: CoarseDeadlines) {
    this.key = key;
    this.address = address;
    this.deadlines = deadlines;
    this.#clock = deadlines.clock;
    this.#resolver = resolver;
    this.#usedAt = deadlines.clock.now();
  }

  get headerFieldCache(): HeaderFieldCache<StatusLine> {
    return this.address.headerFieldCache;
  }

  takeIdle(now: number): Connection | null {
    this.#usedAt = now;
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      if (idle.isOpen && idle.idleUntil > now) return idle;
      idle.close();
    }
    return null;
  }

  /** Gives the waiter the first available connection: a new one, or one that another request has finished with. */
  wait(waiter: ConnectionWaiter): void {
    this.#waiting.set(waiter, null);
    if (this.address.mayDial()) void this.#dialFor(waiter);
    else this.address.enqueue(this);
  }

  /** Starts a connection attempt for the first request that waits without one. Returns false if there is none. */
  dialNext(): boolean {
    for (const [waiter, dial] of this.#waiting) {
      if (dial !== null) continue;
      void this.#dialFor(waiter);
      return true;
    }
    return false;
  }

  stopWaiting(waiter: ConnectionWaiter): void {
    this.#waiting.delete(waiter);
  }

  onIdle(connection: Connection, idleMs: number | null): void {
    if (this.#waiting.size > 0) this.#giveToFirst(connection);
    else if (this.#isClosed || this.#idle.length >= MAX_IDLE) connection.close();
    else {
      this.#usedAt = this.#clock.now();
      connection.idleUntil = this.#usedAt + Math.min(idleMs ?? IDLE_MS, IDLE_MS);
      this.#idle.push(connection);
    }
  }

  /** Closes connections that have been idle for too long. Returns whether the origin has been used recently. */
  closeExpired(now: number): boolean {
    const kept = this.#idle.filter((connection) => {
      if (connection.isOpen && connection.idleUntil > now) return true;
      connection.close();
      return false;
    });
    this.#idle.length = 0;
    this.#idle.push(...kept);
    return kept.length > 0 || this.#waiting.size > 0 || now - this.#usedAt < IDLE_MS;
  }

  /** Closes idle connections now. Requests in flight continue; each connection is closed when its request is done. */
  close(): void {
    this.#isClosed = true;
    this.closeExpired(Infinity);
  }

  #giveToFirst(connection: Connection): void {
    const [waiter] = this.#waiting.keys();
    if (waiter !== undefined) this.#give(connection, waiter);
  }

  #give(connection: Connection, waiter: ConnectionWaiter): void {
    const dial = this.#waiting.get(waiter) ?? null;
    if (dial !== null) dial.isSpare = true;
    this.#waiting.delete(waiter);
    waiter.onConnection(connection);
  }

  async #dialFor(waiter: ConnectionWaiter): Promise<void> {
    const { address } = this;
    const dial = address.beginDial();
    this.#waiting.set(waiter, dial);
    try {
      const addresses = await this.#resolver.resolve(address.hostname);
      const serverName = address.isSecure ? address.hostname : null;
      const connection = await connectToFirst(addresses, address.port, serverName, this);
      address.endDial(dial);
      if (this.#waiting.has(waiter)) this.#give(connection, waiter);
      // Requests overlapped enough to need this connection, and the next one would open another. Keep it briefly.
      else if (dial.isSpare || this.#waiting.size > 0) this.onIdle(connection, UNUSED_IDLE_MS);
      // The request was canceled and no other waits: only connections that have been useful are kept.
      else connection.close();
    } catch (error) {
      address.endDial(dial);
      const upstreamError = error instanceof UpstreamError ? error : new UpstreamError("unreachable", error);
      if (this.#waiting.delete(waiter)) waiter.onError(upstreamError);
    }
    address.dialNext();
  }
}
