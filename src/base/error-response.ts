// Error responses in the gateway's own format.
import type { GatehouseError } from "./errors.ts";

export function errorResponse(error: GatehouseError, requestId: string): Response {
  return Response.json(errorBodyOf(error, requestId), {
    status: error.status,
    headers: errorHeadersOf(error, requestId),
  });
}

/** Returns the body of the error in the gateway's own format. */
export function errorBodyOf({ message, code, details, fields }: GatehouseError, requestId: string) {
  return {
    error: message,
    code,
    request_id: requestId,
    ...(details !== undefined && { details }),
    ...fields,
  };
}

/** Anthropic's clients read the id of a request from `Request-Id`. */
export function errorHeadersOf({ headers }: GatehouseError, requestId: string): Record<string, string> {
  return { ...headers, "X-Request-Id": requestId, "Request-Id": requestId };
}
