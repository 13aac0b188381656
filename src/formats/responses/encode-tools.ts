// Translates tools and tool_choice of a chat request to those of the Responses API.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { isStrictSchema } from "../openai/strict-schema.ts";
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

export function encodeTools(tools: readonly unknown[], report: TranslationReport): JsonObject[] {
  return tools.map((value, index) => {
    const path = `tools[${index}]`;
    const tool = requireObject(value, path);
    report.dropPresent(tool, ["cache_control"]);
    if (tool["type"] === "function")
      return encodeFunction(requireObject(tool["function"], `${path}.function`), path, report);
    if (tool["type"] === "custom")
      return encodeCustomTool(requireObject(tool["custom"], `${path}.custom`), path);
    throw new TranslationError(`${path}.type`, `${path}.type must be "function" or "custom".`);
  });
}

/** In the Responses API functions are strict unless the request says otherwise; in chat completions they are not. */
function encodeFunction(definition: JsonObject, toolPath: string, report: TranslationReport): JsonObject {
  const path = `${toolPath}.function`;
  const description = readString(definition, "description", path);
  const tool = {
    type: "function",
    name: requireString(definition, "name", path),
    ...(description === undefined ? {} : { description }),
    parameters: readObject(definition, "parameters", path) ?? { type: "object", properties: {} },
    strict: readBoolean(definition, "strict", path) ?? false,
  };
  return withPossibleStrictness(tool, "parameters", report);
}

/** OpenAI enforces a schema only if all its properties are required. Others become best effort. */
export function withPossibleStrictness(
  definition: JsonObject,
  key: "parameters" | "schema",
  report: TranslationReport,
): JsonObject {
  if (definition["strict"] !== true || isStrictSchema(definition[key])) return definition;
  report.drop("strict");
  return { ...definition, strict: false };
}

function encodeCustomTool(definition: JsonObject, toolPath: string): JsonObject {
  const path = `${toolPath}.custom`;
  const tool: JsonObject = { type: "custom", name: requireString(definition, "name", path) };
  const description = readString(definition, "description", path);
  if (description !== undefined) tool["description"] = description;
  const format = readObject(definition, "format", path);
  if (format === undefined) return tool;
  const grammar = readObject(format, "grammar", `${path}.format`);
  tool["format"] = grammar === undefined ? format : { type: "grammar", ...grammar };
  return tool;
}

/** Returns null if there is nothing to choose. */
export function encodeToolChoice(choice: unknown, hasTools: boolean): unknown {
  if (choice === undefined || choice === null) return null;
  if (choice === "required" || choice === "auto" || choice === "none") {
    return hasTools || choice === "required" ? choice : null;
  }
  if (isJsonObject(choice)) {
    if (choice["type"] === "allowed_tools") return encodeAllowedTools(choice);
    const reference = encodeReference(choice);
    if (reference !== null) return reference;
  }
  throw new TranslationError(
    "tool_choice",
    'tool_choice must be "auto", "none", "required" or {"type": "function", "function": {"name": "…"}}.',
  );
}

function encodeAllowedTools(choice: JsonObject): JsonObject {
  const allowed = readObject(choice, "allowed_tools", "tool_choice") ?? {};
  const tools = (readArray(allowed, "tools", "tool_choice.allowed_tools") ?? []).map((tool, index) => {
    const reference = isJsonObject(tool) ? encodeReference(tool) : null;
    if (reference !== null) return reference;
    const path = `tool_choice.allowed_tools.tools[${index}]`;
    throw new TranslationError(path, `${path} must name a function or a custom tool.`);
  });
  return {
    type: "allowed_tools",
    mode: readString(allowed, "mode", "tool_choice.allowed_tools") ?? "auto",
    tools,
  };
}

/** Returns null if the choice names no tool. */
function encodeReference(choice: JsonObject): JsonObject | null {
  const type = choice["type"] === "custom" ? "custom" : "function";
  const named = choice[type];
  if (!isJsonObject(named) || typeof named["name"] !== "string") return null;
  return { type, name: named["name"] };
}
