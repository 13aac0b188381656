// Encodes an error of the gateway as Anthropic's API returns errors. `code` is an addition: Anthropic's types are coarser than the
// gateway's codes.
import type { GatewayError } from "../gateway-error.ts";

const TYPES: Readonly<Record<number, string>> = {
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  408: "timeout_error",
  413: "request_too_large",
  429: "rate_limit_error",
  503: "overloaded_error",
  504: "timeout_error",
};

export function encodeError({ status, message, code, requestId }: GatewayError): object {
  const type = TYPES[status] ?? (status < 500 ? "invalid_request_error" : "api_error");
  return { type: "error", error: { type, message, code }, request_id: requestId };
}
