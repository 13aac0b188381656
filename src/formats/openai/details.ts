// How OpenAI's APIs report id and finish reasons: chat completions, completions, and responses.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { DetailsReader, ResponseDetails } from "../response-details.ts";

export const openaiDetails: DetailsReader = {
  read,
  eventPattern: /"(?:finish_reason|reason)"\s*:\s*"/,
  readsModel: false,
};

function read(body: JsonObject, details: ResponseDetails): void {
  // Events of the Responses API carry the response object.
  const response = isJsonObject(body["response"]) ? body["response"] : body;
  details.addId(response["id"]);
  const { choices, incomplete_details: incomplete } = response;
  if (Array.isArray(choices))
    for (const [position, choice] of choices.entries())
      if (isJsonObject(choice)) {
        const { index } = choice;
        details.addFinishReason(typeof index === "number" ? index : position, choice["finish_reason"]);
      }
  if (isJsonObject(incomplete)) details.addFinishReason(0, incomplete["reason"]);
}
