// How Anthropic messages report id and stop reason.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { DetailsReader, ResponseDetails } from "../response-details.ts";

export const anthropicDetails: DetailsReader = {
  read,
  eventPattern: /"stop_reason"\s*:\s*"/,
  readsModel: false,
};

/** `message_start` carries the message, and `message_delta` its stop reason. */
function read(body: JsonObject, details: ResponseDetails): void {
  const message = isJsonObject(body["message"]) ? body["message"] : body;
  details.addId(message["id"]);
  const { delta } = body;
  details.addFinishReason(0, isJsonObject(delta) ? delta["stop_reason"] : message["stop_reason"]);
}
