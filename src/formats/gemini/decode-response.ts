// Translates whole Gemini responses to OpenAI chat; decode-stream.ts translates streams, whose events have the same form.
// Images and the code that Gemini ran are left out: chat messages have no place for them.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { ReasoningDetail } from "../chat-extensions.ts";
import type { ChatCompletion, ChatFinishReason, ChatToolCall, ChatUsage } from "../openai/wire-types.ts";
import type { DecodeOptions } from "../translator.ts";
import { toReasoningDetail } from "./reasoning.ts";
import { decodeToolName } from "./tool-names.ts";

const FINISH_REASONS: ReadonlyMap<unknown, ChatFinishReason> = new Map([
  ["STOP", "stop"],
  ["MAX_TOKENS", "length"],
  ["SAFETY", "content_filter"],
  ["RECITATION", "content_filter"],
  ["LANGUAGE", "content_filter"],
  ["BLOCKLIST", "content_filter"],
  ["PROHIBITED_CONTENT", "content_filter"],
  ["SPII", "content_filter"],
  ["MODEL_ARMOR", "content_filter"],
  ["IMAGE_SAFETY", "content_filter"],
  ["IMAGE_PROHIBITED_CONTENT", "content_filter"],
  ["IMAGE_RECITATION", "content_filter"],
  // Gemini stopped for a reason that it does not name. A client must not take the response for complete.
  ["OTHER", "content_filter"],
  ["IMAGE_OTHER", "content_filter"],
  ["NO_IMAGE", "content_filter"],
  // Gemini withholds an invalid call.
  ["MALFORMED_FUNCTION_CALL", "content_filter"],
  ["MALFORMED_RESPONSE", "content_filter"],
  ["MISSING_THOUGHT_SIGNATURE", "content_filter"],
  ["TOO_MANY_TOOL_CALLS", "content_filter"],
  ["UNEXPECTED_TOOL_CALL", "content_filter"],
]);
/** OpenAI rejects ids of more than 40 characters. */
const MAX_ID_PART = 28;

/** Why and how a response ended. */
export interface Ending {
  readonly reason: ChatFinishReason;
  readonly refusal: string | null;
}

/** What the gateway reads of a part of a response. */
export type DecodedPart =
  | { readonly kind: "text" | "thought"; readonly text: string; readonly signature: string | null }
  | { readonly kind: "call"; readonly call: ChatToolCall; readonly signature: string | null };

/** Gemini's responses carry no time. */
export function decodeResponse(body: unknown, { createdAt }: DecodeOptions): ChatCompletion | null {
  if (!isJsonObject(body)) return null;
  const candidate = firstCandidate(body);
  const ending = endingOf(body, candidate);
  if (candidate === null && ending === null) return null;
  const ids = new CallIds(body);
  let content = "";
  let reasoning = "";
  const calls: ChatToolCall[] = [];
  const details: ReasoningDetail[] = [];
  for (const part of decodeParts(candidate, ids)) {
    if (part.kind === "call") calls.push(part.call);
    else if (part.kind === "thought") reasoning += part.text;
    else content += part.text;
    const id = part.kind === "call" ? part.call.id : null;
    if (part.signature !== null) details.push(toReasoningDetail(part.signature, id));
  }
  return {
    id: textOf(body["responseId"]),
    object: "chat.completion",
    created: createdAt,
    model: textOf(body["modelVersion"]),
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: content === "" && (calls.length > 0 || candidate === null) ? null : content,
          refusal: ending?.refusal ?? null,
          ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
          ...(details.length === 0 ? {} : { reasoning_details: details }),
          ...(calls.length === 0 ? {} : { tool_calls: calls }),
        },
        logprobs: null,
        finish_reason: finishReason(ending, calls.length > 0),
      },
    ],
    usage: toChatUsage(body["usageMetadata"]),
  };
}

export function firstCandidate({ candidates }: JsonObject): JsonObject | null {
  const candidate: unknown = Array.isArray(candidates) ? candidates[0] : null;
  return isJsonObject(candidate) ? candidate : null;
}

/** Returns null if the response, or an event of a stream, names no reason for its end. */
export function endingOf(
  { promptFeedback: feedback }: JsonObject,
  candidate: JsonObject | null,
): Ending | null {
  if (isJsonObject(feedback) && typeof feedback["blockReason"] === "string") {
    const { blockReason, blockReasonMessage: message } = feedback;
    const refusal = textOf(message) || `The provider blocked the prompt: ${blockReason}.`;
    return { reason: "content_filter", refusal };
  }
  const reason = candidate?.["finishReason"] ?? null;
  if (reason === null) return null;
  const message = textOf(candidate?.["finishMessage"]);
  const mapped = FINISH_REASONS.get(reason) ?? "stop";
  return { reason: mapped, refusal: mapped === "content_filter" && message !== "" ? message : null };
}

/** Gemini's finish reason is STOP, whether the model calls functions or not. */
export function finishReason(ending: Ending | null, hasCalls: boolean): ChatFinishReason {
  const reason = ending?.reason ?? "stop";
  return reason === "stop" && hasCalls ? "tool_calls" : reason;
}

export function decodeParts(candidate: JsonObject | null, ids: CallIds): DecodedPart[] {
  const content = candidate?.["content"];
  const parts: unknown = isJsonObject(content) ? content["parts"] : null;
  const decoded: DecodedPart[] = [];
  for (const part of Array.isArray(parts) ? parts : []) {
    if (!isJsonObject(part)) continue;
    const signature = textOf(part["thoughtSignature"]) || null;
    const { functionCall } = part;
    if (isJsonObject(functionCall)) {
      decoded.push({ kind: "call", call: decodeCall(functionCall, ids), signature });
    } else {
      const text = textOf(part["text"]);
      const kind = part["thought"] === true ? "thought" : "text";
      if (text !== "" || signature !== null) decoded.push({ kind, text, signature });
    }
  }
  return decoded;
}

function decodeCall({ id, name, args }: JsonObject, ids: CallIds): ChatToolCall {
  return {
    id: ids.next(id),
    type: "function",
    function: { name: decodeToolName(textOf(name)), arguments: JSON.stringify(args ?? {}) },
  };
}

/** Ids of the tool calls of one response. Gemini may leave them out, but clients refer to calls by them. */
export class CallIds {
  readonly #prefix: string;
  #count = 0;

  constructor({ responseId }: JsonObject) {
    // The id of the response makes the ids unique in a conversation, and the same each time the response is read.
    const source = textOf(responseId) || crypto.randomUUID();
    this.#prefix = `call_${source.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, MAX_ID_PART)}`;
  }

  next(given: unknown): string {
    const index = this.#count++;
    return textOf(given) || `${this.#prefix}_${index}`;
  }
}

/** Returns the text, or "" for any other value. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/**
 * Gemini's prompt includes cached tokens, as OpenAI's does, but not the results of the tools that Google runs. Its candidates
 * do not include thoughts.
 */
export function toChatUsage(usage: unknown): ChatUsage {
  const counts = isJsonObject(usage) ? usage : {};
  const prompt = countOf(counts["promptTokenCount"]) + countOf(counts["toolUsePromptTokenCount"]);
  const thoughts = countOf(counts["thoughtsTokenCount"]);
  const completion = countOf(counts["candidatesTokenCount"]) + thoughts;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: {
      cached_tokens: countOf(counts["cachedContentTokenCount"]),
      cache_write_tokens: 0,
    },
    ...(thoughts === 0 ? {} : { completion_tokens_details: { reasoning_tokens: thoughts } }),
  };
}

function countOf(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
