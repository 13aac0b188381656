// Which Gemini responses, and events of streams, are nothing but a refusal by the provider's filters.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { isEmptyValue } from "../stream-opening.ts";

/** Other reasons without content are mistakes of the model, such as a malformed function call. */
const REASONS: ReadonlySet<unknown> = new Set([
  "SAFETY",
  "RECITATION",
  "BLOCKLIST",
  "PROHIBITED_CONTENT",
  "SPII",
  "MODEL_ARMOR",
  "IMAGE_SAFETY",
  "IMAGE_PROHIBITED_CONTENT",
  "IMAGE_RECITATION",
]);

export function isFilteredContent({ candidates, promptFeedback }: JsonObject): boolean {
  if (isEmptyValue(candidates))
    return isJsonObject(promptFeedback) && !isEmptyValue(promptFeedback["blockReason"]);
  return Array.isArray(candidates) && candidates.every(isFilteredCandidate);
}

function isFilteredCandidate(candidate: unknown): boolean {
  if (!isJsonObject(candidate) || !REASONS.has(candidate["finishReason"])) return false;
  const { content } = candidate;
  const parts: unknown = isJsonObject(content) ? content["parts"] : content;
  return isEmptyValue(parts) || (Array.isArray(parts) && parts.every(isEmptyPart));
}

/** Thoughts are no content: the filter has rejected what followed them. */
function isEmptyPart(part: unknown): boolean {
  if (!isJsonObject(part)) return false;
  const { thought, text, ...others } = part;
  return (thought === true || isEmptyValue(text)) && Object.values(others).every(isEmptyValue);
}
