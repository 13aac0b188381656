// Thinking blocks and the reasoning details of chat messages.
import type { ReasoningDetail } from "../chat-extensions.ts";
import { packDetail } from "../reasoning-details.ts";
import type { AnthropicThinkingBlock } from "./wire-types.ts";

/** The signature of reasoning that is plain text in the target's format. A client sends it back with the text. */
export const UNSIGNED = "gw1.unsigned";

/**
 * Returns the block that carries a detail to a client. Details of other formats are packed, because no other block type
 * accepts arbitrary data.
 */
export function toThinkingBlock(detail: ReasoningDetail): AnthropicThinkingBlock {
  const { type, format, text = "", signature = "", data } = detail;
  if (format === "anthropic" && type === "reasoning.text")
    return { type: "thinking", thinking: text, signature };
  if (format === "anthropic" && data !== undefined) return { type: "redacted_thinking", data };
  return { type: "redacted_thinking", data: packDetail(detail) };
}
