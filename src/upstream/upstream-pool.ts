// All connections to providers: one origin per base URL, gateway, and credential, and the timer that closes idle connections.
import { BoundedCache } from "../base/bounded-cache.ts";
import type { ClockTimer } from "../base/clock.ts";
import { isPromise } from "../base/value-or-promise.ts";
import type { CoarseDeadlines } from "../http/coarse-deadlines.ts";
import type { LineWriter } from "../http/line-writer.ts";
import type { Connection } from "./connection.ts";
import { sendThroughForwardProxy, sendThroughTunnel, usesForwardProxy } from "./forward-proxy.ts";
import { HostResolver } from "./host-resolver.ts";
import { Origin, type ConnectionWaiter } from "./origin.ts";
import { writeRequestHead, type OutgoingRequest } from "./outgoing-request.ts";
import { ProviderAddress } from "./provider-address.ts";
import { credentialHeadersFor, withHeaders } from "./authorize-request.ts";
import type { Authorize, RequestCredential } from "./request-credential.ts";
import type { PooledClient, SendTimeouts } from "./upstream-client.ts";
import { UpstreamError } from "./upstream-error.ts";
import { UpstreamResponse, type ResponseSource } from "./upstream-response.ts";

/** Origins beyond these numbers are closed when they have not been used for the longest time. */
const KEPT_ORIGINS = 4000;
/** Counted apart: clients that invent credentials must not close the connections of targets with a credential. */
const KEPT_CLIENT_ORIGINS = 500;
const KEPT_ADDRESSES = 4000;
const SWEEP_MS = 5000;

export class UpstreamPool implements PooledClient {
  readonly #deadlines: CoarseDeadlines;
  readonly #resolver: HostResolver;
  readonly #origins = new BoundedCache<string, Origin>(KEPT_ORIGINS, closeOrigin);
  readonly #clientOrigins = new BoundedCache<string, Origin>(KEPT_CLIENT_ORIGINS, closeOrigin);
  readonly #addresses = new BoundedCache<string, ProviderAddress>(KEPT_ADDRESSES);
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
  send(request: OutgoingRequest, timeouts: SendTimeouts, now: number): UpstreamResponse {
    const origin = this.#originOf(request);
    const head = writeRequestHead(request, origin.address);
    const response = new UpstreamResponse(this.#deadlines, now, timeouts.connect, timeouts.first_byte);
    if (request.credential === null) this.#dispatch(request, head, origin, response, now);
    else this.#sendAuthorized(request, request.credential, response, timeouts, now);
    return response;
  }

  /** Sends the request when its credential is in memory. Only the final request can be signed. */
  #sendAuthorized(
    request: OutgoingRequest,
    credential: RequestCredential,
    response: UpstreamResponse,
    { connect, first_byte }: SendTimeouts,
    now: number,
  ): void {
    const send = (authorize: Authorize, sentAt: number) => {
      // The origin may have been closed while the request waited.
      const origin = this.#originOf(request);
      response.credentialHeaders = credentialHeadersFor(request, origin.address, authorize);
      const authorized = withHeaders(request, response.credentialHeaders);
      const head = writeRequestHead(authorized, origin.address);
      this.#dispatch(authorized, head, origin, response, sentAt);
    };
    const authorize = credential.authorizer(now);
    if (!isPromise(authorize)) {
      send(authorize, now);
      return;
    }
    response.suspendTimeouts();
    authorize
      .then((ready) => {
        if (response.hasFailed) return;
        const sentAt = this.#deadlines.clock.now();
        response.restartTimeouts(sentAt, connect, first_byte);
        send(ready, sentAt);
      })
      .catch((error: unknown) => response.onError(new UpstreamError("credentials", error)));
  }

  #dispatch(
    request: OutgoingRequest,
    head: LineWriter,
    origin: Origin,
    response: UpstreamResponse,
    now: number,
  ): void {
    const usesProxy = usesForwardProxy(request.baseUrl);
    if (usesProxy && request.handshake !== undefined)
      void sendThroughTunnel(request, head.finish(), response, origin, this.#resolver);
    else if (usesProxy) void sendThroughForwardProxy(request, response, this.#resolver);
    else {
      // An idle connection may be stale, and what was forwarded of a body cannot be sent again.
      const idle = (request.upload ?? null) === null ? origin.takeIdle(now) : null;
      if (idle === null) origin.wait(new WaitingRequest(origin, request, head.finish(), response, now));
      else idle.send(head, request, response);
    }
  }

  /** Closes idle connections now, and each of the others as soon as its response is complete. */
  close(): void {
    this.#isClosed = true;
    for (const origins of [this.#origins, this.#clientOrigins]) {
      for (const origin of origins.values()) origin.close();
      origins.clear();
    }
    this.#sweepTimer?.close();
    this.#sweepTimer = null;
  }

  /** The number of origins that are kept. */
  get size(): number {
    return [...this.#origins.values()].length + [...this.#clientOrigins.values()].length;
  }

  forget(poolKey: string): void {
    this.#clientOrigins.get(poolKey)?.close();
    this.#clientOrigins.delete(poolKey);
  }

  #originOf({ poolKey, usesClientCredential, baseUrl, isTrial }: OutgoingRequest): Origin {
    if (isTrial === true) {
      const origin = new Origin(poolKey, this.#addressOf(baseUrl), this.#resolver, this.#deadlines);
      origin.close();
      return origin;
    }
    const origins = usesClientCredential ? this.#clientOrigins : this.#origins;
    let origin = origins.get(poolKey);
    if (origin === undefined) {
      origin = new Origin(poolKey, this.#addressOf(baseUrl), this.#resolver, this.#deadlines);
      if (this.#isClosed) origin.close();
      else {
        origins.set(poolKey, origin);
        this.#startSweeping();
      }
    }
    return origin;
  }

  #addressOf(baseUrl: string): ProviderAddress {
    let address = this.#addresses.get(baseUrl);
    if (address === undefined) {
      address = new ProviderAddress(baseUrl, this.#deadlines.clock);
      this.#addresses.set(baseUrl, address);
    }
    return address;
  }

  #startSweeping(): void {
    if (this.#sweepTimer !== null) return;
    this.#sweepTimer = this.#deadlines.clock.setInterval(() => this.#sweep(), SWEEP_MS);
    this.#sweepTimer.unref();
  }

  #sweep(): void {
    const now = this.#deadlines.clock.now();
    let isEmpty = true;
    for (const origins of [this.#origins, this.#clientOrigins]) {
      for (const origin of origins.values()) {
        if (origin.closeExpired(now)) isEmpty = false;
        else {
          // A connection that is still in use would otherwise become idle in an origin that no one sweeps.
          origin.close();
          origins.delete(origin.key);
        }
      }
    }
    if (!isEmpty) return;
    this.#sweepTimer?.close();
    this.#sweepTimer = null;
  }
}

function closeOrigin(origin: Origin): void {
  origin.close();
}

/** A request without a connection. Its response can be canceled while it waits. */
class WaitingRequest implements ConnectionWaiter, ResponseSource {
  readonly holdsBody = true;
  readonly #origin: Origin;
  readonly #request: OutgoingRequest;
  readonly #headers: string;
  readonly #response: UpstreamResponse;
  readonly #waitsSince: number;

  constructor(
    origin: Origin,
    request: OutgoingRequest,
    headers: string,
    response: UpstreamResponse,
    now: number,
  ) {
    this.#origin = origin;
    this.#request = request;
    this.#headers = headers;
    this.#response = response;
    this.#waitsSince = now;
    response.onWaiting(this);
  }

  onConnection(connection: Connection): void {
    this.#response.queueMs = this.#origin.deadlines.clock.now() - this.#waitsSince;
    connection.send(this.#headers, this.#request, this.#response);
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
