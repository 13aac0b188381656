// The connections of one gateway to all providers: one origin per base URL, and the timer that closes idle connections.
import { BoundedCache } from "../base/bounded-cache.ts";
import type { ClockTimer } from "../base/clock.ts";
import type { CoarseDeadlines } from "../http/coarse-deadlines.ts";
import type { Connection } from "./connection.ts";
import { sendThroughForwardProxy, usesForwardProxy } from "./forward-proxy.ts";
import { HostResolver } from "./host-resolver.ts";
import { Origin, type ConnectionWaiter } from "./origin.ts";
import { serializeRequestHeaders, type OutgoingRequest } from "./outgoing-request.ts";
import type { UpstreamError } from "./upstream-error.ts";
import { UpstreamResponse, type ResponseSource } from "./upstream-response.ts";

/** Origins beyond this number are closed when they have not been used for the longest time. */
const KEPT_ORIGINS = 1000;
const SWEEP_MS = 5000;

/** In milliseconds. */
interface SendTimeouts {
  readonly connect: number;
  readonly first_byte: number;
}

export class UpstreamPool {
  readonly #deadlines: CoarseDeadlines;
  readonly #resolver: HostResolver;
  readonly #origins = new BoundedCache<string, Origin>(KEPT_ORIGINS, (origin) => origin.close());
  #sweepTimer: ClockTimer | null = null;
  #isClosed = false;

  constructor(deadlines: CoarseDeadlines) {
    this.#deadlines = deadlines;
    this.#resolver = new HostResolver(deadlines.clock);
  }

  /**
   * Sends a request over an idle or a new connection and returns the response before it has arrived: await
   * `headersReceived`, or abort it. `now` is the time of the clock. Throws a GatehouseError if a header of the request cannot be sent.
   */
  send(request: OutgoingRequest, { connect, first_byte }: SendTimeouts, now: number): UpstreamResponse {
    const origin = this.#originOf(request.baseUrl);
    const headers = serializeRequestHeaders(request, origin);
    const response = new UpstreamResponse(this.#deadlines, now, connect, first_byte);
    if (usesForwardProxy(request.baseUrl)) void sendThroughForwardProxy(request, response, this.#resolver);
    else {
      const idle = origin.takeIdle(now);
      if (idle === null) origin.wait(new WaitingRequest(origin, request, headers, response));
      else idle.send(headers, request.body, request.method, response);
    }
    return response;
  }

  /** Closes idle connections now, and each of the others as soon as its response is complete. */
  close(): void {
    this.#isClosed = true;
    for (const origin of this.#origins.values()) origin.close();
    this.#origins.clear();
    this.#sweepTimer?.close();
    this.#sweepTimer = null;
  }

  #originOf(baseUrl: string): Origin {
    let origin = this.#origins.get(baseUrl);
    if (origin === undefined) {
      origin = new Origin(baseUrl, this.#resolver, this.#deadlines, () => this.#startSweeping());
      if (this.#isClosed) origin.close();
      else this.#origins.set(baseUrl, origin);
    }
    return origin;
  }

  #startSweeping(): void {
    if (this.#sweepTimer !== null) return;
    this.#sweepTimer = this.#deadlines.clock.setInterval(() => this.#sweep(), SWEEP_MS);
    this.#sweepTimer.unref();
  }

  #sweep(): void {
    const now = this.#deadlines.clock.now();
    let hasIdle = false;
    for (const origin of this.#origins.values()) hasIdle = origin.closeExpired(now) || hasIdle;
    if (hasIdle) return;
    this.#sweepTimer?.close();
    this.#sweepTimer = null;
  }
}

/** A request without a connection. Its response can be canceled while it waits. */
class WaitingRequest implements ConnectionWaiter, ResponseSource {
  readonly #origin: Origin;
  readonly #request: OutgoingRequest;
  readonly #headers: string;
  readonly #response: UpstreamResponse;

  constructor(origin: Origin, request: OutgoingRequest, headers: string, response: UpstreamResponse) {
    this.#origin = origin;
    this.#request = request;
    this.#headers = headers;
    this.#response = response;
    response.onWaiting(this);
  }

  onConnection(connection: Connection): void {
    connection.send(this.#headers, this.#request.body, this.#request.method, this.#response);
  }

  onError(error: UpstreamError): void {
    this.#response.onError(error);
  }

  cancel(): void {
    this.#origin.stopWaiting(this);
  }

  pause(): void {}
  resume(): void {}
}
