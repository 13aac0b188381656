// Which Anthropic messages are nothing but a refusal by the provider's classifiers.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { isEmptyValue } from "../stream-opening.ts";

const REASON = "refusal";

export function isFilteredMessage({ stop_reason, content }: JsonObject): boolean {
  if (stop_reason !== REASON) return false;
  return isEmptyValue(content) || (Array.isArray(content) && content.every(isEmptyBlock));
}

/** Whether the event ends a stream, which had no content, with a refusal. */
export function isFilteredEnd({ type, delta }: JsonObject): boolean {
  return type === "message_delta" && isJsonObject(delta) && delta["stop_reason"] === REASON;
}

function isEmptyBlock(block: unknown): boolean {
  return isJsonObject(block) && block["type"] === "text" && isEmptyValue(block["text"]);
}
