// Translates tools, tool_choice, and parallel_tool_calls of an OpenAI chat request to Anthropic's fields.
import type { AnthropicTool, AnthropicToolChoice } from "./wire-types.ts";
import { isJsonObject } from "../../base/json.ts";
import type { ChatRequest } from "../openai/wire-types.ts";
import {
  readArray,
  readBoolean,
  readObject,
  readString,
  requireObject,
  requireString,
} from "../read-fields.ts";
import { TranslationError } from "../translation-error.ts";

interface EncodedTools {
  tools?: AnthropicTool[];
  tool_choice?: AnthropicToolChoice;
}

export function encodeTools(body: ChatRequest): EncodedTools {
  const tools = (readArray(body, "tools") ?? []).map((tool, index) => encodeTool(tool, `tools[${index}]`));
  const choice = encodeToolChoice(body.tool_choice);
  if (tools.length === 0) {
    if (choice?.type === "any" || choice?.type === "tool") {
      throw new TranslationError(
        "tool_choice",
        'tool_choice requires a tool call, but the request has no tools. Add tools, or set tool_choice to "auto".',
      );
    }
    // Anthropic rejects a tool_choice without tools. "auto" and "none" have no effect without tools, so they are dropped.
    return {};
  }
  const isSerial = readBoolean(body, "parallel_tool_calls") === false;
  if (!isSerial) return choice === null ? { tools } : { tools, tool_choice: choice };
  if (choice?.type === "none") return { tools, tool_choice: choice };
  return { tools, tool_choice: { ...(choice ?? { type: "auto" }), disable_parallel_tool_use: true } };
}

/**
 * `strict` is dropped, as in Anthropic's own OpenAI-compatible endpoint. Anthropic's strict tools accept fewer schemas and at
 * most 20 tools, so keeping the flag would make requests fail that work without it.
 */
function encodeTool(value: unknown, path: string): AnthropicTool {
  const tool = requireObject(value, path);
  if (tool["type"] !== "function") {
    throw new TranslationError(
      `${path}.type`,
      `${path}.type must be "function"; other tools cannot be translated.`,
    );
  }
  const definition = requireObject(tool["function"], `${path}.function`);
  const description = readString(definition, "description", `${path}.function`);
  return {
    name: requireString(definition, "name", `${path}.function`),
    ...(description === undefined ? {} : { description }),
    // Anthropic requires a schema with a type; OpenAI's functions may have no parameters.
    input_schema: { type: "object", ...(readObject(definition, "parameters", `${path}.function`) ?? {}) },
  };
}

function encodeToolChoice(choice: unknown): AnthropicToolChoice | null {
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
