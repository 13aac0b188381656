// Converts any error of the data plane to an error response.
import { errorBodyOf, errorHeadersOf } from "../base/error-response.ts";
import { GatehouseError, type ErrorCode } from "../base/errors.ts";
import { OutgoingResponse } from "../http/server/outgoing-response.ts";
import type { CompiledGateway } from "../snapshot/compile.ts";
import type { Log } from "../telemetry/log/log.ts";
import { UpstreamError, type UpstreamErrorKind } from "../upstream/upstream-error.ts";
import { inErrorFormat } from "./error-format.ts";
import type { Exchange } from "./exchange.ts";
import { createPluginResponse } from "./plugin-response.ts";
import { WithheldResponse } from "./plugin-work.ts";
import { RejectedText } from "./texts/text-rejection.ts";

/** The access log's status for a client that disconnected before its response, as in nginx. No client receives it. */
export const CLIENT_DISCONNECTED_STATUS = 499;

/** `gateway` is that of the request, else the one that the Host names, or null. It selects the error format. */
export function fail(
  cause: unknown,
  exchange: Exchange,
  log: Log,
  gateway: CompiledGateway | null,
): OutgoingResponse {
  const { requestId, attempts } = exchange;
  if (cause instanceof WithheldResponse) return cause.response;
  if (cause instanceof RejectedText) {
    const { status, code, message: error } = cause.rejection;
    return createPluginResponse({ status, body: { error, code } }, exchange, Infinity);
  }
  const error = toGatehouseError(cause, requestId, log);
  exchange.errorCode = error.code;
  const { status } = error;
  const body = inErrorFormat(errorBodyOf(error, requestId), status, exchange, gateway);
  const response = OutgoingResponse.json(body, { status, headers: errorHeadersOf(error, requestId) });
  exchange.addResponseHeaders(response.headers);
  if (attempts > 0) response.headers.set("X-GW-Attempts", String(attempts));
  return response;
}

/** Returns the error to send to the client. The details of an unexpected error are only logged. */
export function toGatehouseError(error: unknown, requestId: string, log: Log): GatehouseError {
  if (error instanceof GatehouseError) return error;
  if (error instanceof UpstreamError) return new GatehouseError(...UPSTREAM_ERRORS[error.kind]);
  log.error({ request_id: requestId, err: error }, "request failed with an internal error");
  return new GatehouseError("internal_error", "Internal error. Search the gateway log for this request_id.");
}

const UPSTREAM_ERRORS: Readonly<Record<UpstreamErrorKind, readonly [code: ErrorCode, message: string]>> = {
  unreachable: ["upstream_unreachable", "The provider could not be reached."],
  broken: ["upstream_unreachable", "The provider closed the connection before it sent a response."],
  cut: ["upstream_unreachable", "The provider closed the connection before its response was complete."],
  // A client that disconnected gets no response, so that this message is never sent.
  client_left: ["upstream_unreachable", "The client disconnected before the provider responded."],
  // Another attempt serves the request.
  hedge_lost: ["upstream_unreachable", "Another attempt had content first."],
  // The client gets the response of the plugin.
  abandoned: ["upstream_unreachable", "The response was not waited for."],
  // Only copies of requests are aborted for this reason.
  stopped: ["upstream_unreachable", "The gateway stopped before the response was complete."],
  invalid: ["upstream_bad_answer", "The provider's response is not valid HTTP."],
  forbidden: ["upstream_forbidden", "The provider's host name resolves to a link-local or metadata address."],
  credentials: ["upstream_credentials", "The credentials of the target could not be obtained."],
  connect_timeout: [
    "upstream_timeout",
    "The provider did not accept a connection within timeouts.connect of the upstream.",
  ],
  first_byte_timeout: [
    "upstream_timeout",
    "The provider sent no response within timeouts.first_byte of the upstream.",
  ],
  idle_timeout: [
    "upstream_timeout",
    "The provider stopped sending its response for longer than timeouts.idle of the upstream.",
  ],
  first_content_timeout: [
    "upstream_timeout",
    "The provider's stream had no content within timeouts.first_content of the upstream.",
  ],
  error_event: ["upstream_bad_answer", "The provider's stream reported an error before its first content."],
  empty_stream: ["upstream_bad_answer", "The provider's stream ended without content."],
  total_timeout: ["upstream_timeout", "The request took longer than timeouts.total of the upstream."],
};
