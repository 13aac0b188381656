// OpenAI's errors and response headers, which every OpenAI API shares.
import type { HeaderPair } from "../behavior.ts";
import type { JsonObject } from "../loose-json.ts";
import type { ReceivedRequest } from "../recorded-request.ts";
import { type FakeResponse, jsonResponse, sseEvent } from "../response.ts";
import type { ErrorFormat } from "./api.ts";

interface ErrorFields {
  type: string;
  code: string | null;
  message: string;
}

const ERRORS: Record<number, ErrorFields> = {
  401: { type: "invalid_request_error", code: "invalid_api_key", message: "Incorrect API key provided." },
  404: { type: "invalid_request_error", code: "model_not_found", message: "The model does not exist." },
  429: { type: "requests", code: "rate_limit_exceeded", message: "Rate limit reached for requests." },
  503: { type: "server_error", code: null, message: "The engine is currently overloaded." },
};

function errorFields(status: number): ErrorFields {
  return (
    ERRORS[status] ?? {
      type: status < 500 ? "invalid_request_error" : "server_error",
      code: null,
      message: status < 500 ? "The request is invalid." : "The server had an error processing your request.",
    }
  );
}

function openAiErrorBody(status: number, message?: string): JsonObject {
  const { message: usual, type, code } = errorFields(status);
  return { error: { message: message ?? usual, type, param: null, code } };
}

export function openAiError(request: ReceivedRequest, status: number, message?: string): FakeResponse {
  return jsonResponse(status, openAiErrorBody(status, message), openAiHeaders(request));
}

/** A problem with one parameter. Also used for a stored object that does not exist, which is no `model_not_found`. */
export function openAiParameterError(
  request: ReceivedRequest,
  status: number,
  problem: { message: string; param?: string; code?: string },
): FakeResponse {
  const { message, param = null, code = null } = problem;
  const error = { message, type: "invalid_request_error", param, code };
  return jsonResponse(status, { error }, openAiHeaders(request));
}

function rateLimitHeaders(retryAfter: number | string): HeaderPair[] {
  return [
    ["Retry-After", String(retryAfter)],
    ["X-RateLimit-Limit-Requests", "60"],
    ["X-RateLimit-Limit-Tokens", "150000"],
    ["X-RateLimit-Remaining-Requests", "0"],
    ["X-RateLimit-Remaining-Tokens", "149984"],
    ["X-RateLimit-Reset-Requests", typeof retryAfter === "number" ? `${retryAfter}s` : "1s"],
    ["X-RateLimit-Reset-Tokens", "6ms"],
  ];
}

export function openAiHeaders(request: ReceivedRequest): HeaderPair[] {
  return [
    ["X-Request-Id", `req_fake${request.serial}`],
    ["OpenAI-Processing-Ms", "1"],
    ["OpenAI-Version", "2020-10-01"],
  ];
}

export const openAiErrors: ErrorFormat = {
  respond: openAiError,
  rejectKey: (request) => openAiError(request, 401),
  rateLimit: (request, retryAfter) => {
    const response = openAiError(request, 429);
    return { ...response, headers: [...response.headers, ...rateLimitHeaders(retryAfter)] };
  },
  event: () => sseEvent(openAiErrorBody(503)),
  credential: (request) => request.header("authorization")?.replace(/^Bearer /, ""),
};

/** The Responses API sends named events with a number also for errors. */
export const openAiResponsesErrors: ErrorFormat = {
  ...openAiErrors,
  event: (sentEvents) => {
    const { code, message } = errorFields(503);
    return sseEvent({ type: "error", code, message, param: null, sequence_number: sentEvents }, "error");
  },
};
