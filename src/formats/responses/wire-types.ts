// The Responses types that translations write. They list only the fields the gateway uses.
import type { JsonObject } from "../../base/json.ts";

type ItemStatus = "in_progress" | "completed" | "incomplete";

export interface OutputTextPart {
  type: "output_text";
  text: string;
  annotations: never[];
  logprobs: never[];
}

export interface RefusalPart {
  type: "refusal";
  refusal: string;
}

export interface MessageItem {
  id: string;
  type: "message";
  status: ItemStatus;
  role: "assistant";
  content: (OutputTextPart | RefusalPart)[];
}

export interface ReasoningItem {
  id: string;
  type: "reasoning";
  summary: { type: "summary_text"; text: string }[];
  encrypted_content?: string;
}

interface FunctionCallItem {
  id: string;
  type: "function_call";
  status: ItemStatus;
  call_id: string;
  name: string;
  namespace?: string;
  arguments: string;
}

interface CustomToolCallItem {
  id: string;
  type: "custom_tool_call";
  status: ItemStatus;
  call_id: string;
  name: string;
  namespace?: string;
  input: string;
}

/** A search for tools that the client runs. */
interface ToolSearchCallItem {
  id: string;
  type: "tool_search_call";
  status: ItemStatus;
  call_id: string;
  execution: "client";
  arguments: unknown;
}

export type CallItem = FunctionCallItem | CustomToolCallItem | ToolSearchCallItem;
export type OutputItem = MessageItem | ReasoningItem | CallItem;

export interface ResponsesUsage {
  input_tokens: number;
  input_tokens_details: { cached_tokens: number; cache_write_tokens: number };
  output_tokens: number;
  output_tokens_details: { reasoning_tokens: number };
  total_tokens: number;
}

/** A response, with the fields of the request that it repeats. */
export interface ResponseObject extends JsonObject {
  id: string;
  object: "response";
  created_at: number;
  status: "in_progress" | "completed" | "incomplete" | "failed";
  error: { code: string; message: string } | null;
  incomplete_details: { reason: string } | null;
  model: string;
  output: OutputItem[];
  usage: ResponsesUsage | null;
}
