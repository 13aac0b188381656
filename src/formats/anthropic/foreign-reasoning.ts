// Removes the thinking blocks that the gateway wrote for reasoning of other formats: Anthropic rejects them.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { isPacked } from "../reasoning-details.ts";

/** Returns a copy. A message that has no other block is removed. */
export function withoutForeignReasoning(body: JsonObject): JsonObject {
  const { messages } = body;
  return Array.isArray(messages) ? { ...body, messages: messages.flatMap(cleanMessage) } : body;
}

function cleanMessage(message: unknown): unknown[] {
  if (!isJsonObject(message) || !Array.isArray(message["content"])) return [message];
  const content: unknown[] = message["content"];
  const kept = content.filter((block) => !isForeign(block));
  if (kept.length === content.length) return [message];
  return kept.length === 0 ? [] : [{ ...message, content: kept }];
}

function isForeign(block: unknown): boolean {
  if (!isJsonObject(block)) return false;
  const { type, data, signature } = block;
  return (type === "redacted_thinking" && isPacked(data)) || (type === "thinking" && isPacked(signature));
}
