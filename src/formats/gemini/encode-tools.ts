// Translates tools, tool_choice, and parallel_tool_calls of an OpenAI chat request to Gemini's function declarations.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
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
import { encodeSchema } from "./encode-schema.ts";
import { encodeToolName } from "./tool-names.ts";
import type { GeminiFunctionDeclaration, GeminiRequest, GeminiToolConfig } from "./wire-types.ts";

interface ToolChoice {
  readonly mode: GeminiToolConfig["functionCallingConfig"]["mode"];
  /** The tool that must be called; null if the model chooses. */
  readonly tool: string | null;
  /** The tools that may be called; null for all. */
  readonly allowed: ReadonlySet<string> | null;
}

export function encodeTools(
  body: ChatRequest,
  report: TranslationReport,
): Pick<GeminiRequest, "tools" | "toolConfig"> {
  const declared = (readArray(body, "tools") ?? []).map((tool, index) =>
    encodeTool(tool, `tools[${index}]`, report),
  );
  const choice = readToolChoice(body.tool_choice);
  const allowed = choice?.allowed ?? null;
  const functionDeclarations = allowed === null ? declared : declared.filter(({ name }) => allowed.has(name));
  if (functionDeclarations.length === 0) {
    if (choice?.mode === "ANY") {
      throw new TranslationError(
        "tool_choice",
        'tool_choice requires a tool call, but the request has no tools. Add tools, or set tool_choice to "auto".',
      );
    }
    return {};
  }
  // Gemini decides itself how many functions to call in one step.
  if (readBoolean(body, "parallel_tool_calls") === false) report.drop("parallel_tool_calls");
  const tools = [{ functionDeclarations }];
  if (choice === null) return { tools };
  const { mode, tool } = choice;
  const functionCallingConfig = tool === null ? { mode } : { mode, allowedFunctionNames: [tool] };
  return { tools, toolConfig: { functionCallingConfig } };
}

function encodeTool(value: unknown, path: string, report: TranslationReport): GeminiFunctionDeclaration {
  const tool = requireObject(value, path);
  report.dropPresent(tool, ["cache_control"]);
  if (tool["type"] === "custom") {
    const definition = requireObject(tool["custom"], `${path}.custom`);
    report.dropPresent(definition, ["format"]);
    return declaration(definition, `${path}.custom`, CUSTOM_TOOL_SCHEMA, report);
  }
  if (tool["type"] !== "function") {
    throw new TranslationError(
      `${path}.type`,
      `${path}.type must be "function" or "custom"; other tools cannot be translated.`,
    );
  }
  const definition = requireObject(tool["function"], `${path}.function`);
  if (readBoolean(definition, "strict", `${path}.function`) === true) report.drop("strict");
  return declaration(
    definition,
    `${path}.function`,
    readObject(definition, "parameters", `${path}.function`),
    report,
  );
}

/** `parametersJsonSchema` takes JSON Schema. The older `parameters` takes a subset of OpenAPI's schemas only. */
function declaration(
  definition: JsonObject,
  path: string,
  schema: JsonObject | undefined,
  report: TranslationReport,
): GeminiFunctionDeclaration {
  const description = readString(definition, "description", path);
  return {
    name: encodeToolName(requireString(definition, "name", path)),
    ...(description === undefined ? {} : { description }),
    ...(schema === undefined ? {} : { parametersJsonSchema: encodeParameters(schema, path, report) }),
  };
}

/** Gemini rejects the schema of an object without a type. */
function encodeParameters(schema: JsonObject, path: string, report: TranslationReport): JsonObject {
  const encoded = encodeSchema(schema, `${path}.parameters`, report);
  return encoded["type"] === undefined && encoded["$ref"] === undefined
    ? { type: "object", ...encoded }
    : encoded;
}

function readToolChoice(choice: unknown): ToolChoice | null {
  if (choice === undefined || choice === null) return null;
  if (choice === "auto") return { mode: "AUTO", tool: null, allowed: null };
  if (choice === "none") return { mode: "NONE", tool: null, allowed: null };
  if (choice === "required") return { mode: "ANY", tool: null, allowed: null };
  if (isJsonObject(choice)) {
    if (isJsonObject(choice["allowed_tools"])) return readAllowedTools(choice["allowed_tools"]);
    const tool = nameIn(choice);
    if (tool !== null) return { mode: "ANY", tool, allowed: null };
  }
  throw new TranslationError(
    "tool_choice",
    'tool_choice must be "auto", "none", "required" or {"type": "function", "function": {"name": "…"}}.',
  );
}

function readAllowedTools(choice: JsonObject): ToolChoice {
  const tools = readArray(choice, "tools", "tool_choice.allowed_tools") ?? [];
  const names = tools.map((tool) => (isJsonObject(tool) ? nameIn(tool) : null));
  const mode = choice["mode"] === "required" ? "ANY" : "AUTO";
  return { mode, tool: null, allowed: new Set(names.filter((name) => name !== null)) };
}

function nameIn(tool: JsonObject): string | null {
  const named = tool["function"] ?? tool["custom"];
  return isJsonObject(named) && typeof named["name"] === "string" ? encodeToolName(named["name"]) : null;
}
