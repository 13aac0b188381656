// Translates an OpenAI chat request into an Anthropic messages request: the top-level fields. Its messages, tools
// and response format have a file each. What Anthropic cannot do is dropped when it is a hint (seed, penalties,
// logprobs, reasoning_effort) and refused when the answer would not be what was asked for (n, audio).
import type { AnthropicMessagesRequest } from "../anthropic-messages.ts";
import type { ChatRequest } from "../openai-chat.ts";
import { readArray, readBoolean, readNumber, readObject, readString } from "./chat-fields.ts";
import { translateChatMessages } from "./openai-chat-messages-to-anthropic.ts";
import { translateResponseFormat } from "./openai-chat-response-format-to-anthropic.ts";
import { translateChatTools } from "./openai-chat-tools-to-anthropic.ts";
import { TranslationError } from "./translation-error.ts";

/** Anthropic requires max_tokens, OpenAI does not; every model on offer can write this much. */
export const DEFAULT_MAX_TOKENS = 4096;

export function translateChatRequest(body: ChatRequest): AnthropicMessagesRequest {
  refuseWhatWouldBeMissing(body);
  const { system, messages } = translateChatMessages(body.messages);
  const format = translateResponseFormat(body.response_format);
  if (format.instruction !== null) system.push(format.instruction);

  const request: AnthropicMessagesRequest = { max_tokens: readMaxTokens(body), messages };
  const model = readString(body, "model");
  if (model !== undefined) request.model = model;
  if (system.length > 0) request.system = system.join("\n\n");
  Object.assign(request, translateChatTools(body));
  const stop = readStop(body.stop);
  if (stop.length > 0) request.stop_sequences = stop;
  addSampling(request, body);
  if (format.schema !== null)
    request.output_config = { format: { type: "json_schema", schema: format.schema } };
  // safety_identifier is the name under which OpenAI carries on its deprecated `user`.
  const user = readString(body, "user") ?? readString(body, "safety_identifier");
  if (user !== undefined && user !== "") request.metadata = { user_id: user };
  const stream = readBoolean(body, "stream");
  if (stream !== undefined) request.stream = stream;
  return request;
}

function readMaxTokens(body: ChatRequest): number {
  return readNumber(body, "max_completion_tokens") ?? readNumber(body, "max_tokens") ?? DEFAULT_MAX_TOKENS;
}

function addSampling(request: AnthropicMessagesRequest, body: ChatRequest): void {
  const temperature = readNumber(body, "temperature");
  const topP = readNumber(body, "top_p");
  // OpenAI's scale goes to 2, Anthropic's to 1.
  if (temperature !== undefined) request.temperature = Math.min(1, Math.max(0, temperature));
  // Since Claude 4.1 one of the two at a time is allowed. Many clients always send both; a top_p of 1 says nothing.
  if (topP !== undefined && !(topP === 1 && temperature !== undefined)) request.top_p = topP;
  // Not OpenAI's, but chat clients send them for Claude through an SDK's extra_body, as with Anthropic's own
  // compatibility endpoint.
  const topK = readNumber(body, "top_k");
  if (topK !== undefined) request.top_k = topK;
  const thinking = readObject(body, "thinking");
  if (thinking !== undefined) request.thinking = thinking;
}

function readStop(stop: unknown): string[] {
  if (stop === undefined || stop === null) return [];
  if (typeof stop === "string") return [stop];
  if (Array.isArray(stop) && stop.every((sequence) => typeof sequence === "string")) return stop;
  throw new TranslationError("stop", "stop must be a string or an array of strings.");
}

function refuseWhatWouldBeMissing(body: ChatRequest): void {
  const n = readNumber(body, "n");
  if (n !== undefined && n !== 1) {
    throw new TranslationError(
      "n",
      "Anthropic gives one choice a request: leave n out, or send several requests.",
    );
  }
  if (readArray(body, "modalities")?.includes("audio") === true) {
    throw new TranslationError(
      "modalities",
      'Anthropic answers with text only: take "audio" out of modalities.',
    );
  }
  if ((body["functions"] ?? null) !== null || (body["function_call"] ?? null) !== null) {
    const path = (body["functions"] ?? null) === null ? "function_call" : "functions";
    throw new TranslationError(
      path,
      "functions and function_call are not translated: use tools and tool_choice.",
    );
  }
  if ((body["web_search_options"] ?? null) !== null) {
    throw new TranslationError(
      "web_search_options",
      "web_search_options is not translated: leave it out, or send Anthropic's own format with its web search tool.",
    );
  }
}
