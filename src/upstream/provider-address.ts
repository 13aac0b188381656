// The address of a provider (scheme, host, port, and path of a base URL): what all connections to it share, whatever gateway
// and credential they belong to. Limits the connection attempts in progress.
import type { Clock } from "../base/clock.ts";
import { HeaderFieldCache } from "../http/header-field-cache.ts";
import type { StatusLine } from "./response-headers.ts";

/**
 * Bun cannot cancel a connection attempt, and the kernel retries for two minutes, so attempts to an address that drops
 * every packet would pile up. Therefore at most MAX_DIALS run at once. While one of them is older than OVERDUE_MS, a
 * new one starts only every PROBE_EVERY_MS, which is enough to notice that the provider is reachable again.
 */
const MAX_DIALS = 512;
const OVERDUE_MS = 3000;
const PROBE_EVERY_MS = 250;

/** A connection attempt started for one request. The request may be canceled or get another connection meanwhile. */
export interface Dial {
  readonly startedAt: number;
  /** The request was given a connection that another request had finished with. */
  isSpare: boolean;
}

/** An origin with requests for which no connection attempt could be started yet. */
interface Dialer {
  /** Starts a connection attempt for the next of these requests. Returns false if there is none. */
  dialNext(): boolean;
}

export class ProviderAddress {
  /** The value of the Host header. */
  readonly host: string;
  readonly hostname: string;
  readonly port: number;
  readonly isSecure: boolean;
  /** The path of the base URL, with which the path of every request starts. */
  readonly basePath: string;
  readonly headerFieldCache = new HeaderFieldCache<StatusLine>();
  readonly #clock: Clock;
  /** Oldest first. */
  readonly #dials = new Set<Dial>();
  #lastDialAt = -Infinity;
  /** In the order in which they get the next attempt. */
  readonly #queue = new Set<Dialer>();

  constructor(baseUrl: string, clock: Clock) {
    const { protocol, host, hostname, port, pathname } = new URL(baseUrl);
    this.#clock = clock;
    this.isSecure = protocol === "https:";
    this.port = port === "" ? (this.isSecure ? 443 : 80) : Number(port);
    this.hostname = hostname.replace(/^\[|\]$/g, "");
    this.host = host;
    this.basePath = pathname.replace(/\/$/, "");
  }

  mayDial(): boolean {
    const now = this.#clock.now();
    const [oldest] = this.#dials;
    const isOverdue = oldest !== undefined && now - oldest.startedAt > OVERDUE_MS;
    if (this.#dials.size < MAX_DIALS && !isOverdue) return true;
    return now - this.#lastDialAt > PROBE_EVERY_MS;
  }

  /** Call if `mayDial` returned false: `dialNext` is called when an attempt may be started. */
  enqueue(dialer: Dialer): void {
    this.#queue.add(dialer);
  }

  beginDial(): Dial {
    const dial: Dial = { startedAt: this.#clock.now(), isSpare: false };
    this.#dials.add(dial);
    this.#lastDialAt = dial.startedAt;
    return dial;
  }

  endDial(dial: Dial): void {
    this.#dials.delete(dial);
  }

  /** Call after `endDial`. Starts the next attempt, if one is waiting and may be started. */
  dialNext(): void {
    for (const dialer of this.#queue) {
      if (!this.mayDial()) return;
      this.#queue.delete(dialer);
      if (!dialer.dialNext()) continue;
      // Behind all others, so that an origin with many requests does not delay the others.
      this.#queue.add(dialer);
      return;
    }
  }
}
