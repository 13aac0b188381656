// Translates a chat request to an Anthropic messages request: the top-level fields. Messages, tools, thinking, and response
// format have their own files. Fields that Anthropic does not support are dropped and reported if they are hints (seed,
// penalties), and rejected if the response would differ from the requested one (n, logprobs, audio).
import type { AnthropicRequest, AnthropicTextBlock } from "./wire-types.ts";
import { isJsonObject } from "../../base/json.ts";
import type { ChatRequest } from "../openai/wire-types.ts";
import { readArray, readBoolean, readNumber, readString } from "../read-fields.ts";
import { TranslationError } from "../translation-error.ts";
import { emulateStop, splitStop } from "../stop-sequences.ts";
import type { TranslationReport } from "../translation-report.ts";
import { claudeModelOf, type ClaudeModel } from "./claude-models.ts";
import { encodeMessages } from "./encode-messages.ts";
import { encodeResponseFormat } from "./encode-response-format.ts";
import { encodeThinking, type EncodedThinking } from "./encode-thinking.ts";
import { encodeTools } from "./encode-tools.ts";

/** Anthropic requires max_tokens, OpenAI does not. Every Anthropic model supports this many output tokens. */
const DEFAULT_MAX_TOKENS = 4096;
/** For models whose thinking is part of the output. All of them support more. */
const DEFAULT_MAX_TOKENS_WITH_THINKING = 32_000;

/** Fields that are carried, rejected, or have no effect outside OpenAI's format. Others are dropped and reported. */
const HANDLED_FIELDS = new Set([
  "model",
  "messages",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "max_tokens",
  "max_completion_tokens",
  "temperature",
  "top_p",
  "top_k",
  "stop",
  "stream",
  "stream_options",
  "response_format",
  "user",
  "safety_identifier",
  "n",
  "modalities",
  "reasoning_effort",
  "thinking",
  "cache_control",
]);

export function encodeRequest(
  body: ChatRequest,
  { report }: { readonly report: TranslationReport },
): AnthropicRequest {
  rejectUnsupported(body);
  for (const [field, value] of Object.entries(body))
    if (!HANDLED_FIELDS.has(field) && (value ?? null) !== null && value !== false) report.drop(field);
  const name = readString(body, "model");
  const model = claudeModelOf(name);
  const { system, messages, lacksThinking } = encodeMessages(body.messages, report);
  const format = encodeResponseFormat(body.response_format, report);
  if (format.instruction !== null) system.push({ type: "text", text: format.instruction });
  const tools = encodeTools(body, report);
  const isToolForced = tools.tool_choice?.type === "any" || tools.tool_choice?.type === "tool";
  if (isToolForced && !model.hasForcedTools) {
    throw new TranslationError(
      "tool_choice",
      `${name} does not accept a tool_choice that requires a tool call. Set tool_choice to "auto".`,
    );
  }
  const maxTokens = readNumber(body, "max_completion_tokens") ?? readNumber(body, "max_tokens");
  const thinking = encodeThinking(body, { model, maxTokens, isToolForced, lacksThinking }, report);

  const request: AnthropicRequest = { max_tokens: maxTokens ?? defaultMaxTokens(model, thinking), messages };
  if (name !== undefined) request.model = name;
  if (system.length > 0) request.system = toSystem(system);
  Object.assign(request, tools);
  const { stop, blanks } = splitStop(body.stop, report);
  if (stop.length > 0) request.stop_sequences = stop;
  // Anthropic rejects stop sequences that consist of whitespace.
  emulateStop(blanks, report);
  addSampling(request, body, model, thinking, report);
  if (thinking.thinking !== null) request.thinking = thinking.thinking;
  if (thinking.effort !== null) request.output_config = { effort: thinking.effort };
  if (format.schema !== null)
    request.output_config = {
      ...request.output_config,
      format: { type: "json_schema", schema: format.schema },
    };
  addOthers(request, body, report);
  return request;
}

function addOthers(request: AnthropicRequest, body: ChatRequest, report: TranslationReport): void {
  // `safety_identifier` replaces OpenAI's deprecated `user`.
  const identifier = readString(body, "safety_identifier");
  const user = readString(body, "user") ?? identifier;
  if (identifier !== undefined && identifier !== user) report.drop("safety_identifier");
  if (user !== undefined && user !== "") request.metadata = { user_id: user };
  const control = body["cache_control"];
  if (isJsonObject(control)) request.cache_control = control;
  const stream = readBoolean(body, "stream");
  if (stream !== undefined) request.stream = stream;
}

/** Texts with cache breakpoints must stay apart. */
function toSystem(texts: AnthropicTextBlock[]): string | AnthropicTextBlock[] {
  if (texts.some(({ cache_control: control }) => control !== undefined)) return texts;
  return texts.map(({ text }) => text).join("\n\n");
}

function defaultMaxTokens({ thinksByDefault }: ClaudeModel, { thinking, isOn }: EncodedThinking): number {
  const budget = thinking?.["budget_tokens"];
  if (typeof budget === "number") return budget + DEFAULT_MAX_TOKENS;
  return isOn || thinksByDefault ? DEFAULT_MAX_TOKENS_WITH_THINKING : DEFAULT_MAX_TOKENS;
}

/** The smallest `top_p` that Anthropic accepts together with thinking. */
const MIN_TOP_P_WITH_THINKING = 0.95;

/** `top_k` is Anthropic's field, which chat clients send through the extra_body of their SDK. */
function addSampling(
  request: AnthropicRequest,
  body: ChatRequest,
  { hasSampling, combinesSampling }: ClaudeModel,
  { isOn }: EncodedThinking,
  report: TranslationReport,
): void {
  const temperature = readNumber(body, "temperature");
  const topP = readNumber(body, "top_p");
  const topK = readNumber(body, "top_k");
  // Many clients always send both; a value of 1 has no effect.
  const hasOnlyTopP = !combinesSampling && temperature === 1 && topP !== undefined && topP !== 1;
  if (temperature !== undefined && !hasOnlyTopP) {
    // OpenAI accepts values up to 2, Anthropic up to 1.
    if (hasSampling && !isOn) request.temperature = Math.min(1, Math.max(0, temperature));
    else if (temperature !== 1) report.drop("temperature");
  }
  if (topP !== undefined && !(topP === 1 && (temperature !== undefined || !hasSampling))) {
    const isAccepted = hasSampling && (combinesSampling || request.temperature === undefined);
    if (isAccepted && (!isOn || topP >= MIN_TOP_P_WITH_THINKING)) request.top_p = topP;
    else report.drop("top_p");
  }
  if (topK === undefined) return;
  if (hasSampling && !isOn) request.top_k = topK;
  else report.drop("top_k");
}

function rejectUnsupported(body: ChatRequest): void {
  const n = readNumber(body, "n");
  if (n !== undefined && n !== 1) {
    throw new TranslationError(
      "n",
      "Anthropic returns one choice per request. Omit n, or send several requests.",
    );
  }
  if (readBoolean(body, "logprobs") === true)
    throw new TranslationError("logprobs", "Anthropic does not return log probabilities. Omit logprobs.");
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
