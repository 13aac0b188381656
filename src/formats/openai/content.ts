// Where events of OpenAI's APIs carry content: chat completions, completions, and responses.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { ContentReader, isText, type ContentKind } from "../content-reader.ts";

export const openaiContent = new ContentReader({
  // `reasoning_content` and `reasoning` are fields of other providers with this format.
  names: ["reasoning_content", "reasoning", "content", "text", "refusal", "arguments", "input", "delta"],
  kindOf,
});

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
