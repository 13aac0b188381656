// The generated text in events of OpenAI's APIs: chat completions, completions, and responses.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { objectsIn, textOrEmpty } from "../json-values.ts";

/** Base64, whose length says nothing about tokens. */
const BINARY_DELTA = /(?:audio|image|partial_image)\.delta$/;

export function openaiEventText({ type, delta, choices }: JsonObject): string {
  if (Array.isArray(choices)) return objectsIn(choices).map(textOfChoice).join("");
  // The Responses API repeats the whole text in the events that end an item.
  const isDelta = typeof type === "string" && type.endsWith(".delta") && !BINARY_DELTA.test(type);
  return isDelta ? textOrEmpty(delta) : "";
}

function textOfChoice({ text, delta }: JsonObject): string {
  if (!isJsonObject(delta)) return textOrEmpty(text);
  const { content, reasoning_content, reasoning, refusal, tool_calls, function_call, audio } = delta;
  return [
    // Providers send one of them, or both with the same text.
    textOrEmpty(reasoning_content) || textOrEmpty(reasoning),
    typeof content === "string" ? content : objectsIn(content).map(textOfPart).join(""),
    textOrEmpty(refusal),
    isJsonObject(audio) ? textOrEmpty(audio["transcript"]) : "",
    textOfCall(function_call),
    ...objectsIn(tool_calls).map((call) => textOfCall(call["function"]) + textOfCall(call["custom"])),
  ].join("");
}

/** Mistral's reasoning models send lists of parts, and a list of texts in a part with thinking. */
function textOfPart({ text, thinking }: JsonObject): string {
  const thoughts = typeof thinking === "string" ? thinking : objectsIn(thinking).map(textOfPart).join("");
  return textOrEmpty(text) + thoughts;
}

function textOfCall(call: unknown): string {
  if (!isJsonObject(call)) return "";
  return textOrEmpty(call["name"]) + textOrEmpty(call["arguments"]) + textOrEmpty(call["input"]);
}
