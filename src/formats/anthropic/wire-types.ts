// The Anthropic messages types that translations write. They list only the fields the gateway uses.
import type { JsonObject } from "../../base/json.ts";

/** A breakpoint of the prompt cache. */
interface Cacheable {
  cache_control?: JsonObject;
}

export interface AnthropicTextBlock extends Cacheable {
  type: "text";
  text: string;
}

type AnthropicSource = { type: "base64"; media_type: string; data: string } | { type: "url"; url: string };

export interface AnthropicImageBlock extends Cacheable {
  type: "image";
  source: AnthropicSource;
}

export interface AnthropicDocumentBlock extends Cacheable {
  type: "document";
  source: AnthropicSource | { type: "text"; media_type: "text/plain"; data: string };
  title?: string;
}

export interface AnthropicToolUseBlock extends Cacheable {
  type: "tool_use";
  id: string;
  name: string;
  input: JsonObject;
}

export interface AnthropicToolResultBlock extends Cacheable {
  type: "tool_result";
  tool_use_id: string;
  content: string | AnthropicUserContentBlock[];
  is_error?: true;
}

export type AnthropicUserContentBlock = AnthropicTextBlock | AnthropicImageBlock | AnthropicDocumentBlock;
export type AnthropicRequestBlock =
  AnthropicUserContentBlock | AnthropicToolUseBlock | AnthropicToolResultBlock | AnthropicThinkingBlock;

export type AnthropicThinkingBlock =
  { type: "thinking"; thinking: string; signature: string } | { type: "redacted_thinking"; data: string };

export type AnthropicResponseBlock = AnthropicTextBlock | AnthropicToolUseBlock | AnthropicThinkingBlock;

export type AnthropicStopReason = "end_turn" | "max_tokens" | "tool_use" | "refusal" | "stop_sequence";

export interface AnthropicUsage {
  input_tokens: number;
  cache_creation_input_tokens: number;
  cache_read_input_tokens: number;
  output_tokens: number;
  output_tokens_details?: { thinking_tokens: number };
}

export interface AnthropicStop {
  stop_reason: AnthropicStopReason | null;
  stop_sequence: string | null;
  stop_details: { type: "refusal"; category: null; explanation: string } | null;
}

export interface AnthropicMessage extends AnthropicStop {
  id: string;
  type: "message";
  role: "assistant";
  model: string;
  content: AnthropicResponseBlock[];
  usage: AnthropicUsage;
}

export interface AnthropicRequestMessage {
  role: "user" | "assistant";
  content: string | AnthropicRequestBlock[];
}

export interface AnthropicTool extends Cacheable {
  name: string;
  description?: string;
  input_schema: JsonObject;
}

export type AnthropicToolChoice =
  | { type: "auto" | "any"; disable_parallel_tool_use?: boolean }
  | { type: "tool"; name: string; disable_parallel_tool_use?: boolean }
  | { type: "none" };

export interface AnthropicRequest extends Cacheable {
  /** Absent if neither the client nor the target names a model. */
  model?: string;
  max_tokens: number;
  system?: string | AnthropicTextBlock[];
  messages: AnthropicRequestMessage[];
  tools?: AnthropicTool[];
  tool_choice?: AnthropicToolChoice;
  stop_sequences?: string[];
  temperature?: number;
  top_p?: number;
  top_k?: number;
  thinking?: JsonObject;
  output_config?: { effort?: string; format?: { type: "json_schema"; schema: JsonObject } };
  metadata?: { user_id: string };
  stream?: boolean;
}
