// Ends a request with a response that no provider produced: that of a step, a plugin, or an error.
import { OutgoingResponse } from "../http/server/outgoing-response.ts";
import type { Outcome } from "../telemetry/requests/request-facts.ts";
import { captureResponse } from "./capture-bodies.ts";
import type { Exchange } from "./exchange.ts";
import { CLIENT_DISCONNECTED_STATUS, fail } from "./fail.ts";
import { finish, type FinishParts } from "./finish.ts";
import { gatewayOfHost } from "./resolve-gateway.ts";
import { serverTiming } from "./server-timing.ts";

/** Ends a request whose response a step produced. */
export function respondWithoutUpstream(
  exchange: Exchange,
  response: OutgoingResponse,
  parts: FinishParts,
): OutgoingResponse {
  // A kept response is captured before plugins restore what must not be logged.
  if (exchange.bodies !== null && exchange.reused === null)
    captureResponse(exchange.bodies, exchange, response);
  const now = exchange.clock.now();
  // The entries are numbers and names of plugins, which are tokens.
  response.headers.addSpelled("server-timing", "Server-Timing", serverTiming(exchange, null, now));
  finish(exchange, ownOutcome(response.status), response.status, now, parts);
  return response;
}

export function respondWithError(
  exchange: Exchange,
  error: unknown,
  parts: FinishParts & { readonly baseDomain: string | null },
): OutgoingResponse {
  const isDisconnected = exchange.request.isDisconnected;
  const response = isDisconnected
    ? new OutgoingResponse(null, { status: CLIENT_DISCONNECTED_STATUS })
    : fail(error, exchange, parts.log, exchange.gateway ?? gatewayOfHost(exchange, parts.baseDomain));
  if (exchange.bodies !== null) captureResponse(exchange.bodies, exchange, response);
  const outcome = isDisconnected ? "client_left" : ownOutcome(response.status);
  const now = exchange.clock.now();
  response.headers.append("Server-Timing", serverTiming(exchange, null, now));
  finish(exchange, outcome, response.status, now, parts);
  return response;
}

/** The outcome of a request whose response the gateway or a plugin produced. */
function ownOutcome(status: number): Outcome {
  if (status < 400) return "complete";
  return status < 500 ? "refused" : "failed";
}
