// Anthropic's errors and response headers.
import type { HeaderPair } from "../behavior.ts";
import type { JsonObject } from "../loose-json.ts";
import type { ReceivedRequest } from "../recorded-request.ts";
import { type FakeResponse, jsonResponse, sseEvent } from "../response.ts";
import type { ErrorFormat } from "./api.ts";

const ERRORS: Record<number, [type: string, message: string]> = {
  401: ["authentication_error", "invalid x-api-key"],
  403: ["permission_error", "Your API key does not have permission to use the specified resource."],
  404: ["not_found_error", "The requested resource could not be found."],
  413: ["request_too_large", "Request exceeds the maximum allowed number of bytes."],
  429: ["rate_limit_error", "This request would exceed your organization's rate limit."],
  504: ["timeout_error", "The request timed out."],
  529: ["overloaded_error", "Overloaded"],
};

function anthropicErrorBody(status: number, message?: string): JsonObject {
  const [type, usual] =
    ERRORS[status] ??
    (status < 500
      ? ["invalid_request_error", "The request is invalid."]
      : ["api_error", "Internal server error"]);
  return { type: "error", error: { type, message: message ?? usual } };
}

export function anthropicError(request: ReceivedRequest, status: number, message?: string): FakeResponse {
  const body = { ...anthropicErrorBody(status, message), request_id: `req_fake${request.serial}` };
  return jsonResponse(status, body, anthropicHeaders(request));
}

function rateLimitHeaders(retryAfter: number | string): HeaderPair[] {
  const reset = new Date(Date.now() + Number(retryAfter || 0) * 1000 || Date.now()).toISOString();
  return [
    ["Retry-After", String(retryAfter)],
    ["Anthropic-RateLimit-Requests-Limit", "60"],
    ["Anthropic-RateLimit-Requests-Remaining", "0"],
    ["Anthropic-RateLimit-Requests-Reset", reset],
    ["Anthropic-RateLimit-Tokens-Limit", "150000"],
    ["Anthropic-RateLimit-Tokens-Remaining", "149984"],
    ["Anthropic-RateLimit-Tokens-Reset", reset],
  ];
}

export function anthropicHeaders(request: ReceivedRequest): HeaderPair[] {
  return [
    ["Request-Id", `req_fake${request.serial}`],
    ["Anthropic-Organization-Id", "org-fake"],
  ];
}

export const anthropicErrors: ErrorFormat = {
  respond: anthropicError,
  rejectKey: (request) => anthropicError(request, 401),
  rateLimit: (request, retryAfter) => {
    const response = anthropicError(request, 429);
    return { ...response, headers: [...response.headers, ...rateLimitHeaders(retryAfter)] };
  },
  event: () => sseEvent(anthropicErrorBody(529), "error"),
  credential: (request) =>
    request.header("x-api-key") ?? request.header("authorization")?.replace(/^Bearer /, ""),
};
