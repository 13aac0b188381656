// Where events of Anthropic messages carry content.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { ContentReader, isText, type ContentKind } from "../content-reader.ts";
import { isEmptyValue, type Opening } from "../stream-opening.ts";
import { isFilteredEnd } from "./filtered.ts";

export const anthropicContent = new ContentReader({ names: ["thinking", "text", "partial_json"], kindOf });

/** Usually a block starts empty and its content follows in deltas. */
function kindOf({ type, delta, content_block }: JsonObject): ContentKind | null {
  const part = type === "content_block_delta" ? delta : type === "content_block_start" ? content_block : null;
  if (!isJsonObject(part)) return null;
  if (isText(part["thinking"])) return "reasoning";
  return isText(part["text"]) || isText(part["partial_json"]) ? "output" : null;
}

export function anthropicOpening(event: JsonObject): Opening {
  const { type, error, content_block } = event;
  if (type === "error" || !isEmptyValue(error)) return "error";
  if (isFilteredEnd(event)) return "filtered";
  const isQuiet =
    type === "message_start" ||
    type === "ping" ||
    // The block was empty, else its content would have come before.
    type === "content_block_stop" ||
    (type === "content_block_start" && isJsonObject(content_block) && isEmptyBlock(content_block));
  return isQuiet ? "quiet" : "content";
}

/** Whether the content of a block follows. The block of a tool starts with its name. */
function isEmptyBlock({ type, text, thinking, signature, citations }: JsonObject): boolean {
  if (type !== "text" && type !== "thinking") return false;
  return [text, thinking, signature, citations].every(isEmptyValue);
}
