// The OpenAI chat completions types that translations read and write. They list only the fields the gateway uses.
import type { JsonObject } from "../../base/json.ts";
import type { ReasoningDetail } from "../chat-extensions.ts";

/** A request as a client sends it. Fields are unchecked until they are read; unknown fields are allowed. */
export interface ChatRequest extends JsonObject {
  readonly model?: unknown;
  readonly messages?: unknown;
  readonly tools?: unknown;
  readonly tool_choice?: unknown;
  readonly parallel_tool_calls?: unknown;
  readonly max_tokens?: unknown;
  readonly max_completion_tokens?: unknown;
  readonly temperature?: unknown;
  readonly top_p?: unknown;
  readonly stop?: unknown;
  readonly stream?: unknown;
  readonly stream_options?: unknown;
  readonly response_format?: unknown;
  readonly user?: unknown;
  readonly safety_identifier?: unknown;
  readonly n?: unknown;
  readonly modalities?: unknown;
}

export type ChatFinishReason = "stop" | "length" | "tool_calls" | "content_filter";

export interface ChatToolCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}

export interface ChatUsage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details: { cached_tokens: number; cache_write_tokens: number };
  completion_tokens_details?: { reasoning_tokens: number };
}

export interface ChatCompletion {
  id: string;
  object: "chat.completion";
  created: number;
  model: string;
  choices: [
    {
      index: 0;
      message: {
        role: "assistant";
        content: string | null;
        refusal: string | null;
        reasoning_content?: string;
        reasoning_details?: readonly ReasoningDetail[];
        tool_calls?: ChatToolCall[];
      };
      logprobs: null;
      finish_reason: ChatFinishReason;
      /** The emulated stop sequence that ended the text. */
      stop_sequence?: string;
    },
  ];
  usage: ChatUsage;
}

interface ChatToolCallDelta {
  index: number;
  id?: string;
  type?: "function";
  function: { name?: string; arguments: string };
}

export interface ChatDelta {
  role?: "assistant";
  content?: string;
  refusal?: string;
  reasoning_content?: string;
  reasoning_details?: readonly ReasoningDetail[];
  tool_calls?: ChatToolCallDelta[];
}

export interface ChatCompletionChunk {
  id: string;
  object: "chat.completion.chunk";
  created: number;
  model: string;
  choices: {
    index: 0;
    delta: ChatDelta;
    logprobs: null;
    finish_reason: ChatFinishReason | null;
    stop_sequence?: string;
  }[];
  /** Counts of the whole stream, in the last chunk, whose choices are empty. */
  usage?: ChatUsage | null;
}

export interface ChatErrorBody {
  error: { message: string; type: string; param: string | null; code: string | null };
}

/** The data of the last event of a complete stream. */
export const CHAT_STREAM_DONE = "[DONE]";
