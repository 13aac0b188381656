// Turns any error of the data plane into the one error shape.
import { errorResponse, GatehouseError } from "../base/errors.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import type { Exchange } from "./exchange.ts";
import type { Log } from "../telemetry/log/log.ts";

/** Nobody reads this: the client has left. The access line says so with the status that nginx made known for it. */
export const CLIENT_DISCONNECTED_STATUS = 499;

export function fail(fault: unknown, exchange: Exchange, log: Log): Response {
  const { requestId, attempts } = exchange;
  const error = toGatehouseError(fault, requestId, log);
  exchange.errorCode = error.code;
  const response = errorResponse(error, requestId);
  exchange.addResponseHeaders(response.headers);
  if (attempts > 0) response.headers.set("X-GW-Attempts", String(attempts));
  return response;
}

/** What the client is told of a fault. One of ours is told in the log only. */
export function toGatehouseError(error: unknown, requestId: string, log: Log): GatehouseError {
  if (error instanceof GatehouseError) return error;
  if (error instanceof UpstreamError) return describeUpstream(error);
  log.error({ request_id: requestId, err: error }, "the data plane failed");
  return new GatehouseError(
    "internal_error",
    "Something went wrong here; the log has it under the request id.",
  );
}

function describeUpstream(error: UpstreamError): GatehouseError {
  if (error.kind === "forbidden") {
    return new GatehouseError(
      "upstream_forbidden",
      "The provider's name leads to a link-local or metadata address.",
    );
  }
  if (error.kind === "invalid") {
    return new GatehouseError("upstream_bad_answer", "The provider's answer is not one that HTTP knows.");
  }
  if (error.isTimeout) return new GatehouseError("upstream_timeout", "The provider did not answer in time.");
  return new GatehouseError(
    "upstream_unreachable",
    "The provider could not be reached, or broke off before its answer.",
  );
}
