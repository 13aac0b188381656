// Translates the tools, tool_choice and parallel_tool_calls of an OpenAI chat request into Anthropic's.
import type { AnthropicTool, AnthropicToolChoice } from "../anthropic-messages.ts";
import { isJsonObject } from "../../base/json.ts";
import type { ChatRequest } from "../openai-chat.ts";
import {
  readArray,
  readBoolean,
  readObject,
  readString,
  requireObject,
  requireString,
} from "./chat-fields.ts";
import { TranslationError } from "./translation-error.ts";

export interface TranslatedTools {
  tools?: AnthropicTool[];
  tool_choice?: AnthropicToolChoice;
}

export function translateChatTools(body: ChatRequest): TranslatedTools {
  const tools = (readArray(body, "tools") ?? []).map((tool, index) => translateTool(tool, `tools[${index}]`));
  const choice = translateToolChoice(body.tool_choice);
  if (tools.length === 0) {
    if (choice?.type === "any" || choice?.type === "tool") {
      throw new TranslationError(
        "tool_choice",
        "tool_choice asks for a tool, but there are none: add tools.",
      );
    }
    // Anthropic refuses any tool_choice without tools; "auto" and "none" say nothing then.
    return {};
  }
  const isSerial = readBoolean(body, "parallel_tool_calls") === false;
  if (!isSerial) return choice === null ? { tools } : { tools, tool_choice: choice };
  if (choice?.type === "none") return { tools, tool_choice: choice };
  return { tools, tool_choice: { ...(choice ?? { type: "auto" }), disable_parallel_tool_use: true } };
}

/**
 * `strict` is dropped, as Anthropic's own compatibility endpoint does: its strict tools take fewer schemas and at
 * most twenty of them, so that carrying the flag over would make requests fail that work without it.
 */
function translateTool(value: unknown, path: string): AnthropicTool {
  const tool = requireObject(value, path);
  if (tool["type"] !== "function") {
    throw new TranslationError(
      `${path}.type`,
      `${path}.type must be "function": other tools are not translated.`,
    );
  }
  const definition = requireObject(tool["function"], `${path}.function`);
  const description = readString(definition, "description", `${path}.function`);
  return {
    name: requireString(definition, "name", `${path}.function`),
    ...(description === undefined ? {} : { description }),
    // Anthropic requires a schema and its type; OpenAI takes a function without parameters as one with none.
    input_schema: { type: "object", ...(readObject(definition, "parameters", `${path}.function`) ?? {}) },
  };
}

function translateToolChoice(choice: unknown): AnthropicToolChoice | null {
  if (choice === undefined || choice === null) return null;
  if (choice === "auto" || choice === "none") return { type: choice };
  if (choice === "required") return { type: "any" };
  if (isJsonObject(choice) && isJsonObject(choice["function"])) {
    return { type: "tool", name: requireString(choice["function"], "name", "tool_choice.function") };
  }
  throw new TranslationError(
    "tool_choice",
    'tool_choice must be "auto", "none", "required" or {"type": "function", "function": {"name": "…"}}.',
  );
}
