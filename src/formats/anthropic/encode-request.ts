// Translates an OpenAI chat request to an Anthropic messages request: the top-level fields. Messages, tools, and response
// format have their own files. Fields that Anthropic does not support are dropped if they are hints (seed, penalties, logprobs,
// reasoning_effort) and rejected if the response would differ from the requested one (n, audio).
import type { AnthropicRequest } from "./wire-types.ts";
import type { ChatRequest } from "../openai/wire-types.ts";
import { readArray, readBoolean, readNumber, readObject, readString } from "../read-fields.ts";
import { encodeMessages } from "./encode-messages.ts";
import { encodeResponseFormat } from "./encode-response-format.ts";
import { encodeTools } from "./encode-tools.ts";
import { TranslationError } from "../translation-error.ts";

/** Anthropic requires max_tokens, OpenAI does not. Every Anthropic model supports this many output tokens. */
const DEFAULT_MAX_TOKENS = 4096;

export function encodeRequest(body: ChatRequest): AnthropicRequest {
  rejectUnsupported(body);
  const { system, messages } = encodeMessages(body.messages);
  const format = encodeResponseFormat(body.response_format);
  if (format.instruction !== null) system.push(format.instruction);

  const request: AnthropicRequest = { max_tokens: readMaxTokens(body), messages };
  const model = readString(body, "model");
  if (model !== undefined) request.model = model;
  if (system.length > 0) request.system = system.join("\n\n");
  Object.assign(request, encodeTools(body));
  const stop = readStop(body.stop);
  if (stop.length > 0) request.stop_sequences = stop;
  addSampling(request, body);
  if (format.schema !== null)
    request.output_config = { format: { type: "json_schema", schema: format.schema } };
  // `safety_identifier` replaces OpenAI's deprecated `user`.
  const user = readString(body, "user") ?? readString(body, "safety_identifier");
  if (user !== undefined && user !== "") request.metadata = { user_id: user };
  const stream = readBoolean(body, "stream");
  if (stream !== undefined) request.stream = stream;
  return request;
}

function readMaxTokens(body: ChatRequest): number {
  return readNumber(body, "max_completion_tokens") ?? readNumber(body, "max_tokens") ?? DEFAULT_MAX_TOKENS;
}

function addSampling(request: AnthropicRequest, body: ChatRequest): void {
  const temperature = readNumber(body, "temperature");
  const topP = readNumber(body, "top_p");
  // OpenAI accepts values up to 2, Anthropic up to 1.
  if (temperature !== undefined) request.temperature = Math.min(1, Math.max(0, temperature));
  // Since Claude 4.1, only one of the two is allowed. Many clients always send both; a top_p of 1 has no effect.
  if (topP !== undefined && !(topP === 1 && temperature !== undefined)) request.top_p = topP;
  // `top_k` and `thinking` are Anthropic's fields. Chat clients send them through the extra_body of their SDK, as they do with
  // Anthropic's own OpenAI-compatible endpoint.
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

function rejectUnsupported(body: ChatRequest): void {
  const n = readNumber(body, "n");
  if (n !== undefined && n !== 1) {
    throw new TranslationError(
      "n",
      "Anthropic returns one choice per request. Omit n, or send several requests.",
    );
  }
  if (readArray(body, "modalities")?.includes("audio") === true) {
    throw new TranslationError(
      "modalities",
      'Anthropic responds with text only. Remove "audio" from modalities.',
    );
  }
  if ((body["functions"] ?? null) !== null || (body["function_call"] ?? null) !== null) {
    const path = (body["functions"] ?? null) === null ? "function_call" : "functions";
    throw new TranslationError(
      path,
      "functions and function_call cannot be translated. Use tools and tool_choice.",
    );
  }
  if ((body["web_search_options"] ?? null) !== null) {
    throw new TranslationError(
      "web_search_options",
      "web_search_options cannot be translated. Omit it, or send the request in Anthropic's format with its web search tool.",
    );
  }
}
