// Translates Anthropic's whole answers and errors into OpenAI's chat shapes; streams have a file of their own.
// Thinking blocks are left out: OpenAI's chat answers carry no reasoning, and the signature a thinking block needs
// to be sent back would be lost on the way. Blocks of server tools are left out too: the client cannot run them.
import {
  isAnthropicErrorBody,
  type AnthropicMessage,
  type AnthropicStop,
  type AnthropicUsage,
} from "../anthropic-messages.ts";
import type {
  ChatCompletion,
  ChatErrorBody,
  ChatFinishReason,
  ChatToolCall,
  ChatUsage,
} from "../openai-chat.ts";

const FINISH_REASONS: ReadonlyMap<string, ChatFinishReason> = new Map([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  // The answer is not finished, the client would have to ask for the rest; of OpenAI's words that is "length".
  ["pause_turn", "length"],
  ["tool_use", "tool_calls"],
  ["refusal", "content_filter"],
]);

// OpenAI's type and code for each of Anthropic's error types; a type not listed here is carried over as it is.
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

/** `created` is the moment of the answer in Unix seconds; Anthropic does not send it. */
export function translateMessage(message: AnthropicMessage, created: number): ChatCompletion {
  // Citations cut one text into several blocks, so the pieces are joined without a gap.
  const text = message.content.map((block) => (block.type === "text" ? (block.text ?? "") : "")).join("");
  const calls = translateToolUses(message);
  return {
    id: message.id,
    object: "chat.completion",
    created,
    model: message.model,
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: text === "" && calls.length > 0 ? null : text,
          refusal: refusalOf(message),
          ...(calls.length === 0 ? {} : { tool_calls: calls }),
        },
        logprobs: null,
        finish_reason: toFinishReason(message),
      },
    ],
    usage: toChatUsage(message.usage ?? {}),
  };
}

function translateToolUses(message: AnthropicMessage): ChatToolCall[] {
  return message.content
    .filter((block) => block.type === "tool_use")
    .map(({ id = "", name = "", input }) => ({
      id,
      type: "function",
      function: { name, arguments: JSON.stringify(input ?? {}) },
    }));
}

export function toFinishReason({ stop_reason }: AnthropicStop): ChatFinishReason {
  return FINISH_REASONS.get(stop_reason ?? "end_turn") ?? "stop";
}

/** Why the model refused, where Anthropic says so. */
export function refusalOf(stop: AnthropicStop): string | null {
  return stop.stop_reason === "refusal" ? (stop.stop_details?.explanation ?? null) : null;
}

/** Anthropic counts cached input apart; OpenAI's prompt_tokens are all of the input, cached or not. */
export function toChatUsage(usage: AnthropicUsage): ChatUsage {
  const cached = usage.cache_read_input_tokens ?? 0;
  const written = usage.cache_creation_input_tokens ?? 0;
  const prompt = (usage.input_tokens ?? 0) + cached + written;
  const completion = usage.output_tokens ?? 0;
  const thinking = usage.output_tokens_details?.thinking_tokens;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
    ...(thinking === undefined ? {} : { completion_tokens_details: { reasoning_tokens: thinking } }),
  };
}

/** `body` is the parsed body, or null for one that was not JSON (a page of some proxy in between). */
export function translateError(body: unknown, status: number): ChatErrorBody {
  if (!isAnthropicErrorBody(body)) {
    const type = status >= 500 ? "server_error" : "invalid_request_error";
    const message = `The provider answered with status ${status} and no readable error.`;
    return { error: { message, type, param: null, code: null } };
  }
  const { type, message } = body.error;
  const known = ERRORS.get(type) ?? { type, code: null };
  return { error: { message, type: known.type, param: null, code: known.code } };
}
