// One provider address (scheme, host, and port of a base URL): its idle connections, the requests that wait for a
// connection, and the connection attempts in progress.
import type { Clock } from "../base/clock.ts";
import type { CoarseDeadlines } from "../http/coarse-deadlines.ts";
import type { Connection, ConnectionOwner } from "./connection.ts";
import { connectToFirst } from "./dial.ts";
import { HeaderFieldCache } from "./header-field-cache.ts";
import type { HostResolver } from "./host-resolver.ts";
import { UpstreamError } from "./upstream-error.ts";

/** Per origin. Bun's own pool keeps 64, which is too few for requests that take seconds. */
const MAX_IDLE = 1024;
const IDLE_MS = 60_000;
/** Idle time of a connection that has not carried a request yet. */
const UNUSED_IDLE_MS = 2000;
/**
 * Bun cannot cancel a connection attempt, and the kernel retries for two minutes, so attempts to an address that drops
 * every packet would pile up. Therefore at most MAX_DIALS run at once. While one of them is older than OVERDUE_MS, a
 * new one starts only every PROBE_EVERY_MS, which is enough to notice that the provider is reachable again.
 */
const MAX_DIALS = 512;
const OVERDUE_MS = 3000;
const PROBE_EVERY_MS = 250;

/** A request that has no connection yet. */
export interface ConnectionWaiter {
  onConnection(connection: Connection): void;
  onError(error: UpstreamError): void;
}

/** A connection attempt started for one request. The request may be canceled or get another connection meanwhile. */
interface Dial {
  readonly startedAt: number;
  /** The request was given a connection that another request had finished with. */
  isSpare: boolean;
}

export class Origin implements ConnectionOwner {
  /** The value of the Host header. */
  readonly host: string;
  /** The path of the base URL, with which the path of every request starts. */
  readonly basePath: string;
  readonly headerFieldCache = new HeaderFieldCache();
  readonly deadlines: CoarseDeadlines;
  readonly #clock: Clock;
  readonly #resolver: HostResolver;
  readonly #onIdleConnection: () => void;
  readonly #hostname: string;
  readonly #port: number;
  readonly #isSecure: boolean;
  /** The most recently used connection is last and is reused first, so that surplus connections expire. */
  readonly #idle: Connection[] = [];
  /** In order of arrival, each with the connection attempt started for it, if any. */
  readonly #waiting = new Map<ConnectionWaiter, Dial | null>();
  /** Oldest first. */
  readonly #dials = new Set<Dial>();
  #lastDialAt = -Infinity;
  #isClosed = false;

  /** `onIdleConnection` is called when a connection becomes idle; call `closeExpired` regularly from then on. */
  constructor(
    baseUrl: string,
    resolver: HostResolver,
    deadlines: CoarseDeadlines,
    onIdleConnection: () => void,
  ) {
    const { protocol, host, hostname, port, pathname } = new URL(baseUrl);
    this.deadlines = deadlines;
    this.#clock = deadlines.clock;
    this.#resolver = resolver;
    this.#onIdleConnection = onIdleConnection;
    this.#isSecure = protocol === "https:";
    this.#port = port === "" ? (this.#isSecure ? 443 : 80) : Number(port);
    this.#hostname = hostname.replace(/^\[|\]$/g, "");
    this.host = host;
    this.basePath = pathname.replace(/\/$/, "");
  }

  takeIdle(now: number): Connection | null {
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      if (idle.isOpen && idle.idleUntil > now) return idle;
      idle.close();
    }
    return null;
  }

  /** Gives the waiter the first available connection: a new one, or one that another request has finished with. */
  wait(waiter: ConnectionWaiter): void {
    this.#waiting.set(waiter, null);
    if (this.#mayDial()) void this.#dialFor(waiter);
  }

  stopWaiting(waiter: ConnectionWaiter): void {
    this.#waiting.delete(waiter);
  }

  onIdle(connection: Connection, idleMs: number | null): void {
    const [waiter] = this.#waiting.size > 0 ? this.#waiting.keys() : [];
    if (waiter !== undefined) this.#give(connection, waiter);
    else if (this.#isClosed || this.#idle.length >= MAX_IDLE) connection.close();
    else {
      connection.idleUntil = this.#clock.now() + Math.min(idleMs ?? IDLE_MS, IDLE_MS);
      this.#idle.push(connection);
      this.#onIdleConnection();
    }
  }

  /** Closes connections that have been idle for too long. Returns whether idle connections remain. */
  closeExpired(now: number): boolean {
    const kept = this.#idle.filter((connection) => {
      if (connection.isOpen && connection.idleUntil > now) return true;
      connection.close();
      return false;
    });
    this.#idle.length = 0;
    this.#idle.push(...kept);
    return kept.length > 0;
  }

  /** Closes idle connections now. Requests in flight continue; each connection is closed when its request is done. */
  close(): void {
    this.#isClosed = true;
    this.closeExpired(Infinity);
  }

  #give(connection: Connection, waiter: ConnectionWaiter): void {
    const dial = this.#waiting.get(waiter) ?? null;
    if (dial !== null) dial.isSpare = true;
    this.#waiting.delete(waiter);
    waiter.onConnection(connection);
  }

  #mayDial(): boolean {
    const now = this.#clock.now();
    const [oldest] = this.#dials;
    const isOverdue = oldest !== undefined && now - oldest.startedAt > OVERDUE_MS;
    if (this.#dials.size < MAX_DIALS && !isOverdue) return true;
    return now - this.#lastDialAt > PROBE_EVERY_MS;
  }

  async #dialFor(waiter: ConnectionWaiter): Promise<void> {
    const dial: Dial = { startedAt: this.#clock.now(), isSpare: false };
    this.#waiting.set(waiter, dial);
    this.#dials.add(dial);
    this.#lastDialAt = dial.startedAt;
    try {
      const addresses = await this.#resolver.resolve(this.#hostname);
      const serverName = this.#isSecure ? this.#hostname : null;
      const connection = await connectToFirst(addresses, this.#port, serverName, this);
      this.#dials.delete(dial);
      if (this.#waiting.has(waiter)) this.#give(connection, waiter);
      // Requests overlapped enough to need this connection, and the next one would open another. Keep it briefly.
      else if (dial.isSpare || this.#waiting.size > 0) this.onIdle(connection, UNUSED_IDLE_MS);
      // The request was canceled and no other waits: only connections that have been useful are kept.
      else connection.close();
    } catch (error) {
      this.#dials.delete(dial);
      const upstreamError = error instanceof UpstreamError ? error : new UpstreamError("unreachable", error);
      if (this.#waiting.delete(waiter)) waiter.onError(upstreamError);
    }
    for (const [next, itsDial] of this.#waiting) {
      if (itsDial !== null) continue;
      if (this.#mayDial()) void this.#dialFor(next);
      break;
    }
  }
}
