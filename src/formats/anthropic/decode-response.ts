// Translates whole Anthropic responses and errors to OpenAI chat; decode-stream.ts translates streams.
// Thinking becomes `reasoning_content`, and `reasoning_details` with the signature that must be sent back. Blocks of server
// tools are left out, because the client cannot run those.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { ReasoningDetail } from "../chat-extensions.ts";
import { chatUsageOf } from "../chat-usage.ts";
import { CONTEXT_LENGTH_EXCEEDED, isContextLengthMessage } from "../context-length.ts";
import { textOrEmpty } from "../json-values.ts";
import { typeOfStatus } from "../openai/encode-error.ts";
import type { ChatCompletion, ChatErrorBody, ChatFinishReason, ChatToolCall } from "../openai/wire-types.ts";
import type { DecodeOptions } from "../translator.ts";
import { argumentsOf } from "./tool-arguments.ts";
import { anthropicUsage } from "./usage.ts";

const FINISH_REASONS: ReadonlyMap<unknown, ChatFinishReason> = new Map([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  // The response is incomplete and the client would have to request the rest. "length" is the closest value OpenAI has.
  ["pause_turn", "length"],
  ["tool_use", "tool_calls"],
  ["refusal", "content_filter"],
]);

/** OpenAI's type and code for each of Anthropic's error types. Other error types are passed through. */
const ERRORS: ReadonlyMap<string, { readonly type: string; readonly code: string | null }> = new Map([
  ["invalid_request_error", { type: "invalid_request_error", code: null }],
  ["authentication_error", { type: "authentication_error", code: "invalid_api_key" }],
  ["billing_error", { type: "insufficient_quota", code: "insufficient_quota" }],
  ["permission_error", { type: "permission_error", code: "permission_denied" }],
  ["not_found_error", { type: "invalid_request_error", code: "not_found" }],
  ["request_too_large", { type: "invalid_request_error", code: "request_too_large" }],
  ["rate_limit_error", { type: "rate_limit_error", code: "rate_limit_exceeded" }],
  ["timeout_error", { type: "server_error", code: "timeout" }],
  ["api_error", { type: "server_error", code: "server_error" }],
  ["overloaded_error", { type: "server_error", code: "overloaded" }],
]);

/** Anthropic's responses carry no time. */
export function decodeResponse(body: unknown, { createdAt }: DecodeOptions): ChatCompletion | null {
  if (!isJsonObject(body) || body["type"] !== "message" || !Array.isArray(body["content"])) return null;
  const blocks = body["content"].filter(isJsonObject);
  // Citations split one text into several blocks, so the texts are joined without a separator.
  const text = blocks.map((block) => (block["type"] === "text" ? textOrEmpty(block["text"]) : "")).join("");
  const calls = blocks.filter(({ type }) => type === "tool_use").map(decodeToolUse);
  const details = blocks.map(toReasoningDetail).filter((detail) => detail !== null);
  const reasoning = details.map((detail) => detail.text ?? "").join("");
  return {
    id: textOrEmpty(body["id"]),
    object: "chat.completion",
    created: createdAt,
    model: textOrEmpty(body["model"]),
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: text === "" && calls.length > 0 ? null : text,
          refusal: refusalOf(body),
          ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
          ...(details.length === 0 ? {} : { reasoning_details: details }),
          ...(calls.length === 0 ? {} : { tool_calls: calls }),
        },
        logprobs: null,
        finish_reason: toFinishReason(body),
      },
    ],
    usage: chatUsageOf(anthropicUsage, body["usage"]),
  };
}

/** Returns the reasoning of a block, with its signature; null for other blocks. */
export function toReasoningDetail({ type, thinking, signature, data }: JsonObject): ReasoningDetail | null {
  if (type === "redacted_thinking")
    return { type: "reasoning.encrypted", format: "anthropic", data: textOrEmpty(data) };
  if (type !== "thinking") return null;
  const detail = { type: "reasoning.text", format: "anthropic", text: textOrEmpty(thinking) } as const;
  if (typeof signature === "string" && signature !== "") return { ...detail, signature };
  return detail.text === "" ? null : detail;
}

function decodeToolUse({ id, name, input }: JsonObject): ChatToolCall {
  return {
    id: textOrEmpty(id),
    type: "function",
    function: { name: textOrEmpty(name), arguments: argumentsOf(input) },
  };
}

/** `stop` is a message, or the delta of a `message_delta` event. */
export function toFinishReason({ stop_reason }: JsonObject): ChatFinishReason {
  return FINISH_REASONS.get(stop_reason ?? "end_turn") ?? "stop";
}

/** Returns why the model refused, if Anthropic reports a reason. */
export function refusalOf({ stop_reason, stop_details }: JsonObject): string | null {
  if (stop_reason !== "refusal" || !isJsonObject(stop_details)) return null;
  const { explanation } = stop_details;
  return typeof explanation === "string" ? explanation : null;
}

/** `body` is null if it was not JSON, for example an HTML page of a proxy between the gateway and the provider. */
export function decodeError(body: unknown, status: number): ChatErrorBody {
  const error = isJsonObject(body) ? body["error"] : null;
  if (!isJsonObject(error) || typeof error["type"] !== "string" || typeof error["message"] !== "string") {
    const type = typeOfStatus(status);
    const message = `The provider responded with status ${status} and an unreadable error.`;
    return { error: { message, type, param: null, code: null } };
  }
  const { type, code } = ERRORS.get(error["type"]) ?? { type: error["type"], code: null };
  const { message } = error;
  // Anthropic has no code for it.
  if (type === "invalid_request_error" && code === null && isContextLengthMessage(message))
    return { error: { message, type, param: null, code: CONTEXT_LENGTH_EXCEEDED } };
  return { error: { message, type, param: null, code } };
}
