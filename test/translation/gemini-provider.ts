// Writes responses and streams as Gemini does. The gateway has no Gemini clients to translate for, so only tests need this.
import type { JsonObject } from "../../src/base/json.ts";
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatFinishReason,
  ChatToolCall,
  ChatUsage,
} from "../../src/formats/openai/wire-types.ts";
import { formatSse } from "../../src/formats/sse.ts";

const FINISH_REASONS: Readonly<Record<ChatFinishReason, string>> = {
  stop: "STOP",
  tool_calls: "STOP",
  length: "MAX_TOKENS",
  content_filter: "SAFETY",
};

export function geminiResponse({ id, model, choices, usage }: ChatCompletion): JsonObject {
  const { message, finish_reason } = choices[0];
  const { content, reasoning_content: reasoning, tool_calls: calls = [] } = message;
  const parts: JsonObject[] = reasoning === undefined ? [] : [{ text: reasoning, thought: true }];
  if (content !== null) parts.push({ text: content });
  for (const call of calls) parts.push(callPart(call));
  return {
    candidates: [candidate(parts, finish_reason)],
    usageMetadata: usageMetadata(usage),
    modelVersion: model,
    responseId: id,
  };
}

/** Calls arrive whole, so their deltas are collected. The last event has the finish reason and the usage. */
export function geminiStream(chunks: readonly ChatCompletionChunk[]): string {
  const calls: ChatToolCall[] = [];
  const last: JsonObject = {};
  let output = "";
  for (const { id, model, choices, usage } of chunks) {
    const origin = { modelVersion: model, responseId: id };
    if (usage !== undefined && usage !== null)
      Object.assign(last, { ...origin, usageMetadata: usageMetadata(usage) });
    for (const { delta, finish_reason } of choices) {
      const { content = "", reasoning_content: reasoning = "", tool_calls: deltas = [] } = delta;
      for (const { index, id: callId, function: called } of deltas) {
        calls[index] ??= {
          id: callId ?? "",
          type: "function",
          function: { name: called.name ?? "", arguments: "" },
        };
        calls[index].function.arguments += called.arguments;
      }
      const parts: JsonObject[] = reasoning === "" ? [] : [{ text: reasoning, thought: true }];
      if (content !== "") parts.push({ text: content });
      if (parts.length > 0)
        output += formatSse({ data: JSON.stringify({ candidates: [candidate(parts, null)], ...origin }) });
      if (finish_reason !== null) last["candidates"] = [candidate(calls.map(callPart), finish_reason)];
    }
  }
  return output + formatSse({ data: JSON.stringify(last) });
}

function candidate(parts: readonly JsonObject[], reason: ChatFinishReason | null): JsonObject {
  const content = { parts, role: "model" };
  return reason === null ? { content } : { content, finishReason: FINISH_REASONS[reason] };
}

function callPart({ id, function: { name, arguments: json } }: ChatToolCall): JsonObject {
  return { functionCall: { id, name, args: JSON.parse(json) } };
}

function usageMetadata({
  prompt_tokens,
  completion_tokens,
  total_tokens,
  prompt_tokens_details: { cached_tokens },
  completion_tokens_details,
}: ChatUsage): JsonObject {
  const thoughts = completion_tokens_details?.reasoning_tokens ?? 0;
  return {
    promptTokenCount: prompt_tokens,
    cachedContentTokenCount: cached_tokens,
    candidatesTokenCount: completion_tokens - thoughts,
    thoughtsTokenCount: thoughts,
    totalTokenCount: total_tokens,
  };
}
