// Calls of plugins to services of their own gateway: what is sent, what is returned, and why there is no response.
import type { ReadonlyHeaders } from "./readonly-headers.ts";

/** A request to a service. It runs no plugins and needs no API key. */
export interface ServiceRequest {
  /** The endpoint, which also selects the format of request and response. Default: `/v1/chat/completions`. */
  readonly path?: string;
  /** A string or bytes are sent unchanged; any other value is sent as JSON. It must not ask for a stream. */
  readonly body: unknown;
  /** Further headers for the provider. Those with credentials are not sent: targets have their own. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ServiceCallOptions {
  /** 1 to 30,000; default 4,000. A hook that waits for the response must itself finish within 5,000 ms. */
  readonly timeoutMs?: number;
  /** Aborts the call. Calls are also aborted when the client disconnects, and when the request has ended. */
  readonly signal?: AbortSignal;
}

/** The response of a provider, in the format of the request. */
export interface ServiceResponse {
  /** Any status: an error of the provider is a response, too. */
  readonly status: number;
  readonly headers: ReadonlyHeaders;
  readonly text: string;
  /** The body as JSON; undefined if it is none. */
  readonly json: unknown;
}

/**
 * Why a call has no response. `unknown_service`: the gateway has no such service, or it leads to MCP servers. `invalid`: the request
 * cannot be sent. `budget`: a budget of the gateway has not enough left. `timeout`, `aborted`. `limit`: too many calls at the same
 * time. `unavailable`: no target responded. `explaining`: an explanation calls no service.
 */
export type ServiceCallProblem =
  "unknown_service" | "invalid" | "budget" | "timeout" | "aborted" | "limit" | "unavailable" | "explaining";

export class ServiceCallError extends Error {
  override readonly name = "ServiceCallError";
  readonly reason: ServiceCallProblem;

  constructor(reason: ServiceCallProblem, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.reason = reason;
  }
}
