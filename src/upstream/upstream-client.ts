// What sends requests to providers: the pool of connections, or a client that injects faults before or after it.
import type { OutgoingRequest } from "./outgoing-request.ts";
import type { UpstreamResponse } from "./upstream-response.ts";

/** In milliseconds. */
export interface SendTimeouts {
  readonly connect: number;
  readonly first_byte: number;
}

export interface UpstreamClient {
  /** Sends a request and returns the response before it has arrived. */
  send(request: OutgoingRequest, timeouts: SendTimeouts, now: number): UpstreamResponse;
}

export interface PooledClient extends UpstreamClient {
  /** Closes the idle connections of a client's credential. */
  forget(poolKey: string): void;
}
