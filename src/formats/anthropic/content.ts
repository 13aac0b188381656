// Where events of Anthropic messages carry content.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { ContentReader, isText } from "../content-reader.ts";

export const anthropicContent = new ContentReader({
  names: ["text", "thinking", "partial_json"],
  hasContent,
});

/** Usually a block starts empty and its content follows in deltas. */
function hasContent({ type, delta, content_block }: JsonObject): boolean {
  const part = type === "content_block_delta" ? delta : type === "content_block_start" ? content_block : null;
  return isJsonObject(part) && [part["text"], part["thinking"], part["partial_json"]].some(isText);
}
