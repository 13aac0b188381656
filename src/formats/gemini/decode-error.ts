// Translates Gemini's errors to OpenAI's. Gemini's have the form of Google's APIs: {"error": {code, message, status, details}}.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { CONTEXT_LENGTH_EXCEEDED, isContextLengthMessage } from "../context-length.ts";
import { typeOfStatus } from "../openai/encode-error.ts";
import type { ChatErrorBody } from "../openai/wire-types.ts";

interface ErrorKind {
  readonly type: string;
  readonly code: string | null;
}

/** OpenAI's type and code for each status of Google's APIs. */
const KINDS: ReadonlyMap<string, ErrorKind> = new Map([
  ["INVALID_ARGUMENT", { type: "invalid_request_error", code: null }],
  ["FAILED_PRECONDITION", { type: "invalid_request_error", code: null }],
  ["OUT_OF_RANGE", { type: "invalid_request_error", code: null }],
  ["UNAUTHENTICATED", { type: "authentication_error", code: "invalid_api_key" }],
  ["PERMISSION_DENIED", { type: "permission_error", code: "permission_denied" }],
  ["NOT_FOUND", { type: "invalid_request_error", code: "not_found" }],
  ["RESOURCE_EXHAUSTED", { type: "rate_limit_error", code: "rate_limit_exceeded" }],
  ["DEADLINE_EXCEEDED", { type: "server_error", code: "timeout" }],
  ["UNAVAILABLE", { type: "server_error", code: "overloaded" }],
]);
const INVALID_KEY: ErrorKind = { type: "authentication_error", code: "invalid_api_key" };
const CONTEXT_LENGTH: ErrorKind = { type: "invalid_request_error", code: CONTEXT_LENGTH_EXCEEDED };

/** `body` is null if it was not JSON, for example an HTML page of a proxy between the gateway and the provider. */
export function decodeError(body: unknown, status: number): ChatErrorBody {
  const error = errorIn(body);
  if (error === null || typeof error["message"] !== "string") {
    const type = typeOfStatus(status);
    const message = `The provider responded with status ${status} and an unreadable error.`;
    return { error: { message, type, param: null, code: null } };
  }
  const { type, code } = kindOf(error, error["message"], status);
  return { error: { message: error["message"], type, param: null, code } };
}

/** Streams that were not requested as server-sent events are arrays, and so are their errors. */
export function errorIn(body: unknown): JsonObject | null {
  const value: unknown = Array.isArray(body) ? body[0] : body;
  return isJsonObject(value) && isJsonObject(value["error"]) ? value["error"] : null;
}

/** Google's APIs have a detail with a duration such as `34.07s` instead of Retry-After. */
export function retryAfterOf(body: unknown): number | null {
  const details = errorIn(body)?.["details"];
  if (!Array.isArray(details)) return null;
  for (const detail of details) {
    const delay: unknown = isJsonObject(detail) ? detail["retryDelay"] : null;
    if (typeof delay === "string" && /^\d{1,9}(?:\.\d+)?s$/.test(delay)) return Math.ceil(parseFloat(delay));
  }
  return null;
}

function kindOf(error: JsonObject, message: string, httpStatus: number): ErrorKind {
  // Google reports a wrong key as an invalid argument.
  if (hasReason(error["details"], "API_KEY_INVALID")) return INVALID_KEY;
  const { status, code } = error;
  // A quota of tokens has a similar message.
  const isRejected = status === "INVALID_ARGUMENT" || httpStatus === 400;
  if (isRejected && isContextLengthMessage(message)) return CONTEXT_LENGTH;
  const kind = typeof status === "string" ? KINDS.get(status) : undefined;
  return kind ?? kindOfStatus(typeof code === "number" ? code : httpStatus);
}

function hasReason(details: unknown, reason: string): boolean {
  return (
    Array.isArray(details) && details.some((detail) => isJsonObject(detail) && detail["reason"] === reason)
  );
}

function kindOfStatus(status: number): ErrorKind {
  return { type: typeOfStatus(status), code: status >= 500 ? "server_error" : null };
}
