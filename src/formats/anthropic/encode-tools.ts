// Translates tools, tool_choice, and parallel_tool_calls of a chat request to Anthropic's fields.
import type { AnthropicTool, AnthropicToolChoice } from "./wire-types.ts";
import { isJsonObject } from "../../base/json.ts";
import { CUSTOM_TOOL_SCHEMA } from "../chat-extensions.ts";
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
import type { TranslationReport } from "../translation-report.ts";
import { withBreakpoint } from "./encode-content.ts";

interface EncodedTools {
  tools?: AnthropicTool[];
  tool_choice?: AnthropicToolChoice;
}

export function encodeTools(body: ChatRequest, report: TranslationReport): EncodedTools {
  const defined = (readArray(body, "tools") ?? []).map((tool, index) =>
    encodeTool(tool, `tools[${index}]`, report),
  );
  const allowed = readAllowedTools(body.tool_choice);
  const tools = allowed === null ? defined : defined.filter(({ name }) => allowed.names.has(name));
  const choice = encodeToolChoice(allowed === null ? body.tool_choice : allowed.mode);
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
function encodeTool(value: unknown, path: string, report: TranslationReport): AnthropicTool {
  const tool = requireObject(value, path);
  const { type } = tool;
  if (type !== "function" && type !== "custom") {
    throw new TranslationError(
      `${path}.type`,
      `${path}.type must be "function" or "custom"; other tools cannot be translated.`,
    );
  }
  const definition = requireObject(tool[type], `${path}.${type}`);
  const description = readString(definition, "description", `${path}.${type}`);
  if (definition["strict"] === true) report.drop("strict");
  const format = definition["format"];
  if (isJsonObject(format) && format["type"] !== "text") report.drop("format");
  const encoded: AnthropicTool = {
    name: requireString(definition, "name", `${path}.${type}`),
    ...(description === undefined ? {} : { description }),
    input_schema:
      type === "custom"
        ? CUSTOM_TOOL_SCHEMA
        : // Anthropic requires a schema with a type; OpenAI's functions may have no parameters.
          { type: "object", ...(readObject(definition, "parameters", `${path}.function`) ?? {}) },
  };
  return withBreakpoint(encoded, tool);
}

/** Returns the tools that `tool_choice` restricts the model to; null if it does not. */
function readAllowedTools(choice: unknown): { mode: string; names: ReadonlySet<string> } | null {
  if (!isJsonObject(choice) || choice["type"] !== "allowed_tools") return null;
  const path = "tool_choice.allowed_tools";
  const allowed = requireObject(choice["allowed_tools"], path);
  const names = new Set<string>();
  for (const [index, value] of (readArray(allowed, "tools", path) ?? []).entries()) {
    const tool = requireObject(value, `${path}.tools[${index}]`);
    const named = isJsonObject(tool["function"]) ? tool["function"] : tool["custom"];
    names.add(requireString(isJsonObject(named) ? named : tool, "name", `${path}.tools[${index}]`));
  }
  return { mode: readString(allowed, "mode", path) ?? "auto", names };
}

function encodeToolChoice(choice: unknown): AnthropicToolChoice | null {
  if (choice === undefined || choice === null) return null;
  if (choice === "auto" || choice === "none") return { type: choice };
  if (choice === "required") return { type: "any" };
  if (isJsonObject(choice)) {
    const named = choice["function"] ?? choice["custom"];
    if (isJsonObject(named))
      return { type: "tool", name: requireString(named, "name", `tool_choice.${String(choice["type"])}`) };
  }
  throw new TranslationError(
    "tool_choice",
    'tool_choice must be "auto", "none", "required" or {"type": "function", "function": {"name": "…"}}.',
  );
}
