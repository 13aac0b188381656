// Translates whole chat completions to Anthropic messages; encode-stream.ts translates streams.
import type { ChatCompletion, ChatFinishReason, ChatToolCall, ChatUsage } from "../openai/wire-types.ts";
import type { ResponseContext } from "../translator.ts";
import { toThinkingBlock, UNSIGNED } from "./thinking-blocks.ts";
import { inputOf } from "./tool-arguments.ts";
import type {
  AnthropicMessage,
  AnthropicResponseBlock,
  AnthropicStop,
  AnthropicStopReason,
  AnthropicToolUseBlock,
  AnthropicUsage,
} from "./wire-types.ts";

const STOP_REASONS: Readonly<Record<ChatFinishReason, AnthropicStopReason>> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  content_filter: "refusal",
};

export function encodeResponse(
  { id, model, choices, usage }: ChatCompletion,
  { renamedTools }: ResponseContext,
): AnthropicMessage {
  const { message, finish_reason, stop_sequence } = choices[0];
  const { content, refusal, tool_calls: calls = [] } = message;
  const blocks = encodeReasoning(message);
  if (content !== null && content !== "") blocks.push({ type: "text", text: content });
  // A refusal of OpenAI's models is text for the user, instead of the content.
  else if (refusal !== null) blocks.push({ type: "text", text: refusal });
  for (const call of calls) blocks.push(encodeToolCall(call, renamedTools));
  return {
    id,
    type: "message",
    role: "assistant",
    model,
    content: blocks,
    ...toStop(finish_reason, calls.length > 0, refusal, stop_sequence),
    usage: toAnthropicUsage(usage),
  };
}

function encodeReasoning({
  reasoning_content: text = "",
  reasoning_details: details = [],
}: ChatCompletion["choices"][0]["message"]): AnthropicResponseBlock[] {
  const blocks: AnthropicResponseBlock[] = details.map(toThinkingBlock);
  // The texts of thinking blocks are in `reasoning_content` as well.
  if (text !== "" && !blocks.some(({ type }) => type === "thinking"))
    blocks.unshift({ type: "thinking", thinking: text, signature: UNSIGNED });
  return blocks;
}

function encodeToolCall(
  { id, function: { name, arguments: text } }: ChatToolCall,
  renamedTools: ResponseContext["renamedTools"],
): AnthropicToolUseBlock {
  return { type: "tool_use", id, name: renamedTools?.get(name) ?? name, input: inputOf(text) };
}

export function toStop(
  reason: ChatFinishReason | null,
  hasCalls: boolean,
  refusal: string | null,
  stopSequence: string | undefined,
): AnthropicStop {
  if (stopSequence !== undefined)
    return { stop_reason: "stop_sequence", stop_sequence: stopSequence, stop_details: null };
  const details =
    refusal === null ? null : ({ type: "refusal", category: null, explanation: refusal } as const);
  return { stop_reason: toStopReason(reason, hasCalls, refusal), stop_sequence: null, stop_details: details };
}

/** Some providers finish with "stop" after tool calls, as OpenAI does if the request forces a tool. */
function toStopReason(
  reason: ChatFinishReason | null,
  hasCalls: boolean,
  refusal: string | null,
): AnthropicStopReason {
  if (refusal !== null) return "refusal";
  const stop = STOP_REASONS[reason ?? "stop"];
  return hasCalls && stop === "end_turn" ? "tool_use" : stop;
}

/** OpenAI's `prompt_tokens` include cached input; Anthropic's `input_tokens` exclude it. */
export function toAnthropicUsage(usage: ChatUsage): AnthropicUsage {
  const { cached_tokens: cached, cache_write_tokens: written } = usage.prompt_tokens_details;
  const reasoning = usage.completion_tokens_details?.reasoning_tokens;
  return {
    input_tokens: Math.max(0, usage.prompt_tokens - cached - written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
    output_tokens: usage.completion_tokens,
    ...(reasoning === undefined ? {} : { output_tokens_details: { thinking_tokens: reasoning } }),
  };
}
