// The arguments of tool calls: text with JSON in chat, an object in Anthropic's messages.
import { parseExact, stringifyExact } from "../../base/exact-json.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";

/** The field for arguments that are no JSON object, such as those of a response that reached its token limit. */
const RAW = "raw_arguments";

/** Returns the arguments as an object. Those that are no JSON object become the text of one field. */
export function inputOf(text: string): JsonObject {
  // Some providers send "" if there are no arguments.
  if (text.trim() === "") return {};
  try {
    const value: unknown = parseExact(text);
    if (isJsonObject(value)) return value;
  } catch {
    // Cut off.
  }
  return { [RAW]: text };
}

/** Returns the arguments as text. */
export function argumentsOf(input: unknown): string {
  if (!isJsonObject(input)) return JSON.stringify(input ?? {});
  const raw = input[RAW];
  return typeof raw === "string" && Object.keys(input).length === 1 ? raw : stringifyExact(input);
}
