// Which responses of OpenAI's APIs are nothing but a refusal by the provider's content filter. For bodies and for the last events of
// streams.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { isEmptyValue } from "../stream-opening.ts";

const REASON = "content_filter";
/** Gemini's chat endpoint writes the reason of the filter after it: `content_filter: RECITATION`. */
const FINISH_REASON = /^content_filter(?::|$)/;
/** Parts of a message or delta that are no content. A refusal is the filter's own text. */
const NO_CONTENT: ReadonlySet<string> = new Set(["role", "refusal"]);

/** Chat completions and completions. */
export function isFilteredChat({ choices }: JsonObject): boolean {
  return Array.isArray(choices) && choices.length > 0 && choices.every(isFilteredChoice);
}

function isFilteredChoice(choice: unknown): boolean {
  if (!isJsonObject(choice) || !isEmptyValue(choice["text"])) return false;
  const { finish_reason: reason } = choice;
  if (typeof reason !== "string" || !FINISH_REASON.test(reason)) return false;
  const message = choice["message"] ?? choice["delta"] ?? {};
  return (
    isJsonObject(message) &&
    Object.entries(message).every(([name, value]) => NO_CONTENT.has(name) || isEmptyValue(value))
  );
}

/** The Responses API. */
export function isFilteredResponse({ incomplete_details: details, output }: JsonObject): boolean {
  if (!isJsonObject(details) || details["reason"] !== REASON) return false;
  return isEmptyValue(output) || (Array.isArray(output) && output.every(hasNoContent));
}

/** Reasoning is no content: the filter has rejected what followed it. */
function hasNoContent(item: unknown): boolean {
  if (!isJsonObject(item)) return false;
  const { type, content } = item;
  if (type === "reasoning") return true;
  if (type !== "message") return false;
  return isEmptyValue(content) || (Array.isArray(content) && content.every(isEmptyPart));
}

function isEmptyPart(part: unknown): boolean {
  return isJsonObject(part) && (part["type"] === "refusal" || isEmptyValue(part["text"]));
}
