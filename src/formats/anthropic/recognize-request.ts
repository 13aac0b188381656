// Recognizes request bodies in Anthropic's messages format, which are forwarded unchanged; OpenAI chat bodies are translated.
// Decides by features that exist in one of the two formats and that the other rejects.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { objectsIn } from "../json-values.ts";

// `thinking`, `top_k`, `metadata`, `cache_control`, and `service_tier` are missing here because OpenAI clients send them too.
const ANTHROPIC_FIELDS = [
  "system",
  "stop_sequences",
  "anthropic_version",
  "output_config",
  "mcp_servers",
  "context_management",
] as const;

const CHAT_FIELDS = [
  "audio",
  "frequency_penalty",
  "function_call",
  "functions",
  "logit_bias",
  "logprobs",
  "max_completion_tokens",
  "modalities",
  "n",
  "parallel_tool_calls",
  "prediction",
  "presence_penalty",
  "prompt_cache_key",
  "reasoning_effort",
  "response_format",
  "safety_identifier",
  "seed",
  "stop",
  "store",
  "stream_options",
  "top_logprobs",
  "user",
  "verbosity",
  "web_search_options",
] as const;

const ANTHROPIC_BLOCKS = new Set([
  "document",
  "image",
  "redacted_thinking",
  "search_result",
  "server_tool_use",
  "thinking",
  "tool_result",
  "tool_use",
]);
const ANTHROPIC_TOOL_CHOICES = new Set<unknown>(["any", "auto", "none", "tool"]);
const CHAT_PARTS = new Set(["file", "image_url", "input_audio", "refusal"]);
const CHAT_ROLES = new Set<unknown>(["developer", "function", "system", "tool"]);
const CHAT_MESSAGE_FIELDS = [
  "audio",
  "function_call",
  "name",
  "refusal",
  "tool_call_id",
  "tool_calls",
] as const;

export function isAnthropicRequest(body: unknown, isChatPath = false): boolean {
  if (!isJsonObject(body)) return false;
  const messages = objectsIn(body["messages"]);
  // Anthropic's features decide first: the role "system" exists in both formats, a top-level `system` only in Anthropic's.
  if (hasAnthropicFields(body) || messages.some(hasAnthropicBlock)) return true;
  if (isChatPath || hasChatFields(body) || messages.some(isChatMessage)) return false;
  // Plain text messages are valid in both formats, but only Anthropic requires max_tokens.
  return typeof body["max_tokens"] === "number";
}

function hasAnthropicFields(body: JsonObject): boolean {
  if (ANTHROPIC_FIELDS.some((field) => (body[field] ?? null) !== null)) return true;
  const choice = body["tool_choice"];
  if (isJsonObject(choice) && ANTHROPIC_TOOL_CHOICES.has(choice["type"])) return true;
  return objectsIn(body["tools"]).some(isAnthropicTool);
}

function isAnthropicTool(tool: JsonObject): boolean {
  if (Object.hasOwn(tool, "input_schema")) return true;
  // Server tools have a dated type and a top-level name: {"type": "web_search_20250305", "name": "web_search"}.
  return typeof tool["type"] === "string" && tool["type"] !== "function" && typeof tool["name"] === "string";
}

function hasAnthropicBlock(message: JsonObject): boolean {
  return objectsIn(message["content"]).some(
    ({ type }) => typeof type === "string" && ANTHROPIC_BLOCKS.has(type),
  );
}

function hasChatFields(body: JsonObject): boolean {
  // Null counts as well: Anthropic rejects unknown fields whatever their value.
  if (CHAT_FIELDS.some((field) => Object.hasOwn(body, field))) return true;
  // Anthropic's forms of these have been ruled out before; "auto" and {"type": "function", …} remain.
  if (objectsIn(body["tools"]).length > 0 || Object.hasOwn(body, "tool_choice")) return true;
  return typeof body["temperature"] === "number" && body["temperature"] > 1;
}

function isChatMessage(message: JsonObject): boolean {
  if (CHAT_ROLES.has(message["role"]) || message["content"] === null) return true;
  if (CHAT_MESSAGE_FIELDS.some((field) => Object.hasOwn(message, field))) return true;
  return objectsIn(message["content"]).some(({ type }) => typeof type === "string" && CHAT_PARTS.has(type));
}
