// Gemini's errors: Google's common error object, with the name of the gRPC status.
import type { JsonObject } from "../loose-json.ts";
import type { ReceivedRequest } from "../recorded-request.ts";
import { type FakeResponse, jsonResponse, sseEvent } from "../response.ts";
import type { ErrorFormat } from "./api.ts";

const STATUSES: Record<number, [status: string, message: string]> = {
  400: ["INVALID_ARGUMENT", "Request contains an invalid argument."],
  401: ["UNAUTHENTICATED", "Request had invalid authentication credentials."],
  403: ["PERMISSION_DENIED", "The caller does not have permission."],
  404: ["NOT_FOUND", "Requested entity was not found."],
  429: ["RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."],
  500: ["INTERNAL", "An internal error has occurred."],
  503: ["UNAVAILABLE", "The model is overloaded. Please try again later."],
  504: ["DEADLINE_EXCEEDED", "The request timed out."],
};

const DETAIL = "type.googleapis.com/google.rpc.";

function geminiErrorBody(code: number, message?: string, details?: JsonObject[]): JsonObject {
  const [status, usual] =
    STATUSES[code] ??
    (code < 500
      ? ["FAILED_PRECONDITION", "The request is invalid."]
      : ["INTERNAL", "An internal error has occurred."]);
  const error = { code, message: message ?? usual, status };
  return { error: details === undefined ? error : { ...error, details } };
}

export function geminiError(_request: ReceivedRequest, status: number, message?: string): FakeResponse {
  return jsonResponse(status, geminiErrorBody(status, message));
}

export const geminiErrors: ErrorFormat = {
  respond: geminiError,
  // Gemini reports an invalid key with 400.
  rejectKey: () => {
    const info = { "@type": `${DETAIL}ErrorInfo`, reason: "API_KEY_INVALID", domain: "googleapis.com" };
    return jsonResponse(400, geminiErrorBody(400, "API key not valid. Please pass a valid API key.", [info]));
  },
  // Gemini sends the delay in the body; the header is added for clients that know only that.
  rateLimit: (_request, retryAfter) => {
    const delay = typeof retryAfter === "number" ? `${retryAfter}s` : "1s";
    const info = { "@type": `${DETAIL}RetryInfo`, retryDelay: delay };
    return jsonResponse(429, geminiErrorBody(429, undefined, [info]), [["Retry-After", String(retryAfter)]]);
  },
  event: () => sseEvent(geminiErrorBody(503)),
  credential: (request) =>
    request.header("x-goog-api-key") ??
    new URLSearchParams(request.target.slice(request.path.length)).get("key") ??
    request.header("authorization")?.replace(/^Bearer /, ""),
};
