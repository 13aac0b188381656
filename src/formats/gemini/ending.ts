// Why a Gemini response, or an event of a stream, says that it has ended.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { textOrEmpty } from "../json-values.ts";
import type { ChatFinishReason } from "../openai/wire-types.ts";

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

/** Why and how a response ended. */
export interface Ending {
  readonly reason: ChatFinishReason;
  readonly refusal: string | null;
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
    const refusal = textOrEmpty(message) || `The provider blocked the prompt: ${blockReason}.`;
    return { reason: "content_filter", refusal };
  }
  const reason = candidate?.["finishReason"] ?? null;
  if (reason === null) return null;
  const message = textOrEmpty(candidate?.["finishMessage"]);
  const mapped = FINISH_REASONS.get(reason) ?? "stop";
  return { reason: mapped, refusal: mapped === "content_filter" && message !== "" ? message : null };
}
