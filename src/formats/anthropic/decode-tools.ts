// Translates tools and tool_choice of an Anthropic request to chat fields.
import type { JsonObject } from "../../base/json.ts";
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
import { withCacheControl } from "./decode-blocks.ts";
import { toHubToolName } from "./tool-names.ts";

/** Properties of tools that are hints to Anthropic's models. */
const HINTS = ["input_examples", "defer_loading", "allowed_callers"] as const;

export function decodeTools(body: JsonObject, report: TranslationReport): JsonObject {
  const tools: JsonObject[] = [];
  for (const [index, value] of (readArray(body, "tools") ?? []).entries()) {
    const path = `tools[${index}]`;
    const tool = decodeTool(requireObject(value, path), path, report);
    if (tool !== null) tools.push(tool);
  }
  const choice = readObject(body, "tool_choice");
  const fields: JsonObject = {};
  if (tools.length > 0) fields["tools"] = tools;
  if (choice === undefined) return fields;
  fields["tool_choice"] = decodeToolChoice(choice);
  if (readBoolean(choice, "disable_parallel_tool_use", "tool_choice") === true)
    fields["parallel_tool_calls"] = false;
  return fields;
}

/** Returns null for a tool that other formats can do without. */
function decodeTool(tool: JsonObject, path: string, report: TranslationReport): JsonObject | null {
  const type = readString(tool, "type", path) ?? "custom";
  if (type.startsWith("tool_search_tool_")) {
    // It finds tools whose definitions are loaded later. Other formats get all definitions.
    report.drop("tool_search");
    return null;
  }
  if (type !== "custom") {
    throw new TranslationError(
      `${path}.type`,
      `${path} is a tool of the type ${JSON.stringify(type)}, which only Anthropic provides. Remove it.`,
    );
  }
  for (const hint of HINTS) if ((tool[hint] ?? false) !== false) report.drop(hint);
  const definition: JsonObject = { name: toHubToolName(requireString(tool, "name", path)) };
  const description = readString(tool, "description", path);
  if (description !== undefined) definition["description"] = description;
  definition["parameters"] = requireObject(tool["input_schema"], `${path}.input_schema`);
  if (tool["strict"] === true) definition["strict"] = true;
  return withCacheControl({ type: "function", function: definition }, tool);
}

function decodeToolChoice(choice: JsonObject): unknown {
  switch (choice["type"]) {
    case "auto":
    case "none":
      return choice["type"];
    case "any":
      return "required";
    case "tool":
      return {
        type: "function",
        function: { name: toHubToolName(requireString(choice, "name", "tool_choice")) },
      };
    default:
      throw new TranslationError(
        "tool_choice.type",
        'tool_choice.type must be "auto", "any", "tool" or "none".',
      );
  }
}
