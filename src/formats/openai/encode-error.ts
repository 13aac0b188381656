// Encodes an error of the gateway as OpenAI's API returns errors. Clients choose an exception by the status, and show the message.
import type { GatewayError } from "../gateway-error.ts";
import type { ChatErrorBody } from "./wire-types.ts";

const TYPES: Readonly<Record<number, string>> = {
  401: "authentication_error",
  402: "insufficient_quota",
  403: "permission_error",
  404: "not_found_error",
  408: "timeout_error",
  429: "rate_limit_error",
  504: "timeout_error",
};

export function encodeError({ status, message, code, field }: GatewayError): ChatErrorBody {
  return { error: { message, type: typeOfStatus(status), param: field, code } };
}

/** Returns the type of an error that says nothing but its status. */
export function typeOfStatus(status: number): string {
  return TYPES[status] ?? (status < 500 ? "invalid_request_error" : "server_error");
}
