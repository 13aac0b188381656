// Where events of Gemini carry content.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { ContentReader, isText, type ContentKind } from "../content-reader.ts";

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
