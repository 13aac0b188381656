// Where events of OpenAI's APIs carry content: chat completions, completions, and responses.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { ContentReader, isText, type ContentKind } from "../content-reader.ts";
import { isEmptyValue, type Opening } from "../stream-opening.ts";
import { failureOf } from "./decode-response.ts";
import { isFilteredChat, isFilteredResponse } from "./filtered.ts";

export const openaiContent = new ContentReader({
  // `reasoning_content` and `reasoning` are fields of other providers with this format.
  names: ["reasoning_content", "reasoning", "content", "text", "refusal", "arguments", "input", "delta"],
  kindOf,
});

/** Events of the Responses API that only announce what follows. */
const QUIET_TYPES = new Set([
  "response.created",
  "response.queued",
  "response.in_progress",
  "response.output_item.added",
  "response.content_part.added",
  "response.reasoning_summary_part.added",
]);

export function openaiOpening({ type, error, choices, response }: JsonObject): Opening {
  if (!isEmptyValue(error) || type === "error" || type === "response.failed") return "error";
  if (Array.isArray(choices) && choices.some(isFailedChoice)) return "error";
  if (isFilteredChat({ choices })) return "filtered";
  if (type === "response.incomplete" && isJsonObject(response) && isFilteredResponse(response))
    return "filtered";
  const isQuiet = Array.isArray(choices)
    ? choices.every(isQuietChoice)
    : typeof type === "string" && QUIET_TYPES.has(type);
  return isQuiet ? "quiet" : "content";
}

function isFailedChoice(choice: unknown): boolean {
  return isJsonObject(choice) && failureOf(choice["finish_reason"]) !== null;
}

/** Whether a choice has at most a role. Its end counts as content: the response is complete. */
function isQuietChoice(choice: unknown): boolean {
  if (!isJsonObject(choice)) return false;
  const { delta, text, finish_reason } = choice;
  if (!isEmptyValue(finish_reason) || !isEmptyValue(text)) return false;
  if (!isJsonObject(delta)) return isEmptyValue(delta);
  return Object.entries(delta).every(([name, value]) => name === "role" || isEmptyValue(value));
}

function kindOf({ type, delta, choices }: JsonObject): ContentKind | null {
  if (Array.isArray(choices)) return choices.map(kindOfChoice).find((kind) => kind !== null) ?? null;
  // The Responses API: `response.output_text.delta`, `response.reasoning_summary_text.delta` and others.
  if (!isText(delta) || typeof type !== "string" || !type.endsWith(".delta")) return null;
  return type.startsWith("response.reasoning") ? "reasoning" : "output";
}

function kindOfChoice(choice: unknown): ContentKind | null {
  if (!isJsonObject(choice)) return null;
  const { text, delta } = choice;
  if (!isJsonObject(delta)) return isText(text) ? "output" : null;
  const { content, reasoning_content, reasoning, refusal, tool_calls, function_call } = delta;
  if (isText(reasoning_content) || isText(reasoning)) return "reasoning";
  // Mistral's reasoning models send a list of parts.
  if (Array.isArray(content) && content.length > 0) return content.some(isThinking) ? "reasoning" : "output";
  const hasOutput =
    isText(content) ||
    isText(refusal) ||
    isCallWithArguments(function_call) ||
    (Array.isArray(tool_calls) && tool_calls.some(isToolCall));
  return hasOutput ? "output" : null;
}

function isThinking(part: unknown): boolean {
  return isJsonObject(part) && part["type"] === "thinking";
}

/** Whether a delta of a tool call has arguments, or the input of a custom tool. */
function isToolCall(call: unknown): boolean {
  if (!isJsonObject(call)) return false;
  const { function: called, custom } = call;
  return isCallWithArguments(called) || (isJsonObject(custom) && isText(custom["input"]));
}

function isCallWithArguments(called: unknown): boolean {
  return isJsonObject(called) && isText(called["arguments"]);
}
