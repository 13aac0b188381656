// Where events of OpenAI's APIs carry content: chat completions, completions, and responses.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { ContentReader, isText } from "../content-reader.ts";

export const openaiContent = new ContentReader({
  // `reasoning_content` and `reasoning` are fields of other providers with this format.
  names: ["content", "text", "reasoning_content", "reasoning", "refusal", "arguments", "input", "delta"],
  hasContent,
});

function hasContent({ type, delta, choices }: JsonObject): boolean {
  if (Array.isArray(choices)) return choices.some(isChoiceWithContent);
  // The Responses API: `response.output_text.delta`, `response.function_call_arguments.delta` and others.
  return isText(delta) && typeof type === "string" && type.endsWith(".delta");
}

function isChoiceWithContent(choice: unknown): boolean {
  if (!isJsonObject(choice)) return false;
  const { text, delta } = choice;
  if (!isJsonObject(delta)) return isText(text);
  const { content, reasoning_content, reasoning, refusal, tool_calls, function_call } = delta;
  if ([content, reasoning_content, reasoning, refusal].some(isText)) return true;
  // Mistral's reasoning models send a list of parts.
  if (Array.isArray(content)) return content.length > 0;
  return isCallWithArguments(function_call) || (Array.isArray(tool_calls) && tool_calls.some(isToolCall));
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
