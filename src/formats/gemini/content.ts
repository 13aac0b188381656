// Where events of Gemini carry content.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { ContentReader, isText, type ContentKind } from "../content-reader.ts";
import { isEmptyValue, type Opening } from "../stream-opening.ts";
import { errorIn } from "./decode-error.ts";
import { isFilteredContent } from "./filtered.ts";

// Function calls have a name, and images have data.
export const geminiContent = new ContentReader({ names: ["text", "name", "data"], kindOf });

function kindOf({ candidates }: JsonObject): ContentKind | null {
  if (!Array.isArray(candidates)) return null;
  for (const candidate of candidates) {
    const content: unknown = isJsonObject(candidate) ? candidate["content"] : null;
    const parts: unknown = isJsonObject(content) ? content["parts"] : null;
    if (!Array.isArray(parts)) continue;
    for (const part of parts) {
      const kind = isJsonObject(part) ? kindOfPart(part) : null;
      if (kind !== null) return kind;
    }
  }
  return null;
}

function kindOfPart({ text, thought, functionCall, inlineData }: JsonObject): ContentKind | null {
  if (isText(text)) return thought === true ? "reasoning" : "output";
  return isJsonObject(functionCall) || isJsonObject(inlineData) ? "output" : null;
}

/** A prompt that was blocked has no candidates: that is the response. */
export function geminiOpening(event: JsonObject): Opening {
  if (errorIn(event) !== null) return "error";
  if (isFilteredContent(event)) return "filtered";
  const { candidates, promptFeedback } = event;
  if (!isEmptyValue(promptFeedback)) return "content";
  const isQuiet =
    isEmptyValue(candidates) || (Array.isArray(candidates) && candidates.every(isQuietCandidate));
  return isQuiet ? "quiet" : "content";
}

function isQuietCandidate(candidate: unknown): boolean {
  if (!isJsonObject(candidate) || !isEmptyValue(candidate["finishReason"])) return false;
  const { content } = candidate;
  if (!isJsonObject(content)) return isEmptyValue(content);
  const { parts } = content;
  return isEmptyValue(parts) || (Array.isArray(parts) && parts.every(isEmptyPart));
}

function isEmptyPart(part: unknown): boolean {
  return (
    isJsonObject(part) &&
    Object.entries(part).every(([name, value]) => name === "thought" || isEmptyValue(value))
  );
}
