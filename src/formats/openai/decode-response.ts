// Reads whole responses and errors of chat targets. Fields that no client of another format can get are left out by the
// encoders of those formats, not here.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { ChatCompletion, ChatErrorBody } from "./wire-types.ts";

/** Returns null if the body is no chat completion with a choice. */
export function decodeResponse(body: unknown): ChatCompletion | null {
  return isCompletion(body) ? body : null;
}

function isCompletion(body: unknown): body is ChatCompletion & JsonObject {
  if (!isJsonObject(body) || !Array.isArray(body["choices"])) return false;
  const choice: unknown = body["choices"][0];
  return isJsonObject(choice) && isJsonObject(choice["message"]);
}

/** `body` is null if it was not JSON, for example an HTML page of a proxy between the gateway and the provider. */
export function decodeError(body: unknown, status: number): ChatErrorBody {
  const error = isJsonObject(body) ? body["error"] : null;
  if (!isJsonObject(error) || typeof error["message"] !== "string") {
    const type = status >= 500 ? "server_error" : "invalid_request_error";
    const message = `The provider responded with status ${status} and an unreadable error.`;
    return { error: { message, type, param: null, code: null } };
  }
  const { message, type, param, code } = error;
  return {
    error: {
      message,
      type: textOrNull(type) ?? (status >= 500 ? "server_error" : "invalid_request_error"),
      param: textOrNull(param),
      code: typeof code === "number" ? String(code) : textOrNull(code),
    },
  };
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
