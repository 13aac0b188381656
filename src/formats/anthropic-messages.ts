// The Anthropic messages shapes that the gateway reads and writes; only the fields it uses.
import { isJsonObject, type JsonObject } from "../base/json.ts";

/** Requests must say which version of the API they speak; there has been one for years. */
export const VERSION_HEADER = "anthropic-version";
export const DEFAULT_VERSION = "2023-06-01";

export interface AnthropicTextBlock {
  type: "text";
  text: string;
}

export type AnthropicSource =
  { type: "base64"; media_type: string; data: string } | { type: "url"; url: string };

export interface AnthropicImageBlock {
  type: "image";
  source: AnthropicSource;
}

export interface AnthropicDocumentBlock {
  type: "document";
  source: AnthropicSource;
  title?: string;
}

export interface AnthropicToolUseBlock {
  type: "tool_use";
  id: string;
  name: string;
  input: JsonObject;
}

export interface AnthropicToolResultBlock {
  type: "tool_result";
  tool_use_id: string;
  content: string | AnthropicUserContentBlock[];
}

export type AnthropicUserContentBlock = AnthropicTextBlock | AnthropicImageBlock | AnthropicDocumentBlock;
export type AnthropicRequestBlock =
  AnthropicUserContentBlock | AnthropicToolUseBlock | AnthropicToolResultBlock;

export interface AnthropicRequestMessage {
  role: "user" | "assistant";
  content: string | AnthropicRequestBlock[];
}

export interface AnthropicTool {
  name: string;
  description?: string;
  input_schema: JsonObject;
}

export type AnthropicToolChoice =
  | { type: "auto" | "any"; disable_parallel_tool_use?: boolean }
  | { type: "tool"; name: string; disable_parallel_tool_use?: boolean }
  | { type: "none" };

export interface AnthropicMessagesRequest {
  /** Absent when the client named none; the target's default is then filled in by the caller. */
  model?: string;
  max_tokens: number;
  system?: string;
  messages: AnthropicRequestMessage[];
  tools?: AnthropicTool[];
  tool_choice?: AnthropicToolChoice;
  stop_sequences?: string[];
  temperature?: number;
  top_p?: number;
  top_k?: number;
  thinking?: JsonObject;
  output_config?: { format: { type: "json_schema"; schema: JsonObject } };
  metadata?: { user_id: string };
  stream?: boolean;
}

/** Token counts; in a stream they are cumulative and spread over two events, hence all optional. */
export interface AnthropicUsage {
  readonly input_tokens?: number | null;
  readonly output_tokens?: number | null;
  readonly cache_creation_input_tokens?: number | null;
  readonly cache_read_input_tokens?: number | null;
  readonly output_tokens_details?: { readonly thinking_tokens?: number } | null;
}

export interface AnthropicStop {
  readonly stop_reason?: string | null;
  readonly stop_details?: { readonly explanation?: string | null } | null;
}

/** A block of an answer. Kinds the gateway does not translate share this one shape. */
export interface AnthropicResponseBlock {
  readonly type: string;
  readonly text?: string;
  readonly id?: string;
  readonly name?: string;
  readonly input?: unknown;
}

export interface AnthropicMessage extends AnthropicStop {
  readonly id: string;
  readonly type: "message";
  readonly model: string;
  readonly content: readonly AnthropicResponseBlock[];
  readonly usage?: AnthropicUsage;
}

export interface AnthropicErrorBody {
  readonly type: "error";
  readonly error: { readonly type: string; readonly message: string };
}

export interface AnthropicBlockDelta {
  readonly type: string;
  readonly text?: string;
  readonly partial_json?: string;
}

export type AnthropicStreamEvent =
  | { readonly type: "message_start"; readonly message: Omit<AnthropicMessage, "content"> }
  | {
      readonly type: "content_block_start";
      readonly index: number;
      readonly content_block: AnthropicResponseBlock;
    }
  | { readonly type: "content_block_delta"; readonly index: number; readonly delta: AnthropicBlockDelta }
  | { readonly type: "content_block_stop"; readonly index: number }
  | { readonly type: "message_delta"; readonly delta: AnthropicStop; readonly usage?: AnthropicUsage }
  | { readonly type: "message_stop" }
  | { readonly type: "ping" }
  | AnthropicErrorBody;

export function isAnthropicMessage(value: unknown): value is AnthropicMessage {
  return isJsonObject(value) && value["type"] === "message" && Array.isArray(value["content"]);
}

export function isAnthropicErrorBody(value: unknown): value is AnthropicErrorBody {
  if (!isJsonObject(value) || !isJsonObject(value["error"])) return false;
  return typeof value["error"]["type"] === "string" && typeof value["error"]["message"] === "string";
}
