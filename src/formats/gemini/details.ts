// How Gemini reports id, model and finish reasons.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { DetailsReader, ResponseDetails } from "../response-details.ts";

export const geminiDetails: DetailsReader = {
  read,
  eventPattern: /"(?:finishReason|blockReason)"\s*:\s*"/,
  readsModel: true,
};

function read(body: JsonObject, details: ResponseDetails): void {
  const { responseId, modelVersion, candidates, promptFeedback } = body;
  details.addId(responseId);
  details.addModel(modelVersion);
  if (Array.isArray(candidates))
    for (const [position, candidate] of candidates.entries())
      if (isJsonObject(candidate)) {
        const { index } = candidate;
        details.addFinishReason(typeof index === "number" ? index : position, candidate["finishReason"]);
      }
  if (isJsonObject(promptFeedback)) details.addFinishReason(0, promptFeedback["blockReason"]);
}
