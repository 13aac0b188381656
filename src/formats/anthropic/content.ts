// Where events of Anthropic messages carry content.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { ContentReader, isText, type ContentKind } from "../content-reader.ts";

export const anthropicContent = new ContentReader({ names: ["thinking", "text", "partial_json"], kindOf });

/** Usually a block starts empty and its content follows in deltas. */
function kindOf({ type, delta, content_block }: JsonObject): ContentKind | null {
  const part = type === "content_block_delta" ? delta : type === "content_block_start" ? content_block : null;
  if (!isJsonObject(part)) return null;
  if (isText(part["thinking"])) return "reasoning";
  return isText(part["text"]) || isText(part["partial_json"]) ? "output" : null;
}
