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

/** The text of a whole response: the same fields, in messages and in items of the Responses API. */
export function openaiBodyText({ choices, output, text }: JsonObject): string {
  if (Array.isArray(choices)) return objectsIn(choices).map(textOfChoice).join("");
  return Array.isArray(output) ? objectsIn(output).map(textOfItem).join("") : textOrEmpty(text);
}

/** A message, reasoning, or a call of a tool. Results of tools have other fields. */
function textOfItem(item: JsonObject): string {
  const parts = [...objectsIn(item["summary"]), ...objectsIn(item["content"])];
  const ofParts = parts.map(({ text, refusal }) => textOrEmpty(text) + textOrEmpty(refusal)).join("");
  return ofParts + textOfCall(item) + textOrEmpty(item["code"]);
}

function textOfChoice({ text, delta, message }: JsonObject): string {
  const output = delta ?? message;
  if (!isJsonObject(output)) return textOrEmpty(text);
  const { content, refusal, tool_calls, function_call, audio, audio_transcript } = output;
  return [
    textOfReasoning(output),
    typeof content === "string" ? content : objectsIn(content).map(textOfPart).join(""),
    textOrEmpty(refusal),
    isJsonObject(audio) ? textOrEmpty(audio["transcript"]) : textOrEmpty(audio_transcript),
    textOfCall(function_call),
    ...objectsIn(tool_calls).map((call) => textOfCall(call["function"]) + textOfCall(call["custom"])),
  ].join("");
}

/** Servers name the field differently. Some send several of them with the same text. */
function textOfReasoning({ reasoning_content, reasoning, thinking }: JsonObject): string {
  return textOrEmpty(reasoning_content) || textOrEmpty(reasoning) || textOrEmpty(thinking);
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
