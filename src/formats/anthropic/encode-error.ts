// Errors as Anthropic's API returns them: those of the gateway, and those of providers with another format. `code` of the
// gateway's errors is an addition: Anthropic's types are coarser than the gateway's codes.
import type { GatewayError } from "../gateway-error.ts";
import type { ChatErrorBody } from "../openai/wire-types.ts";

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
  529: "overloaded_error",
};

/** Codes of the hub format that say more than the status. */
const TYPES_BY_CODE: ReadonlyMap<string | null, string> = new Map([
  ["context_length_exceeded", "invalid_request_error"],
  ["insufficient_quota", "billing_error"],
  ["invalid_api_key", "authentication_error"],
  ["overloaded", "overloaded_error"],
  ["permission_denied", "permission_error"],
  ["rate_limit_exceeded", "rate_limit_error"],
  ["timeout", "timeout_error"],
]);

/** Types of errors that OpenAI and Anthropic share. */
const SHARED_TYPES = new Set([
  "authentication_error",
  "invalid_request_error",
  "permission_error",
  "rate_limit_error",
]);

export function encodeError({ status, message: text, code, field, requestId }: GatewayError): object {
  // Anthropic's errors have no field for it. Its own messages begin with the name of the field, too.
  const message = field === null || text.includes(field) ? text : `${field}: ${text}`;
  // Anthropic's clients then send the whole conversation instead.
  const details =
    code === "thread_unsupported_request" ? { details: { error_code: code, unsupported: ["provider"] } } : {};
  const error = { type: typeOfStatus(status), message, code, ...details };
  return { type: "error", error, request_id: requestId };
}

export function encodeProviderError({ error }: ChatErrorBody, status: number, requestId: string): object {
  const type = TYPES_BY_CODE.get(error.code) ?? typeOfStatus(status);
  return { type: "error", error: { type, message: messageOf(error) }, request_id: requestId };
}

/** Returns the data of the event that ends a stream. */
export function encodeStreamError({ error }: ChatErrorBody): object {
  const byType = SHARED_TYPES.has(error.type) ? error.type : "api_error";
  return {
    type: "error",
    error: { type: TYPES_BY_CODE.get(error.code) ?? byType, message: messageOf(error) },
  };
}

function typeOfStatus(status: number): string {
  return TYPES[status] ?? (status < 500 ? "invalid_request_error" : "api_error");
}

/** Anthropic has no code for a prompt that exceeds the context window; its clients recognize the beginning of the message. */
function messageOf({ code, message }: ChatErrorBody["error"]): string {
  if (code !== "context_length_exceeded" || message.includes("prompt is too long")) return message;
  const counts = message.match(/\d{4,}/g)?.map(Number) ?? [];
  if (counts.length !== 2) return `prompt is too long: ${message}`;
  return `prompt is too long: ${Math.max(...counts)} tokens > ${Math.min(...counts)} maximum`;
}
