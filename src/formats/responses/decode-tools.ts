// Translates the tools of a Responses request to functions of the hub format. Hosted tools, which the provider runs, are
// rejected: no other provider has them, and leaving them out would change the result. The exception is a web search beside
// tools of the client: coding agents offer it with every request, and work without it. It is dropped and reported.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
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
import { hubToolName, TOOL_SEARCH, type ClientTool } from "./client-tools.ts";

/** Options of tools that other formats do not have. Without them, the model can call the tool in more ways. */
const DROPPED_OPTIONS = ["allowed_callers", "defer_loading", "output_schema"] as const;

export class DecodedTools {
  readonly #byName = new Map<string, JsonObject>();
  readonly #clientTools = new Map<string, ClientTool>();
  /** The names of the functions, by that of the tool in its namespace: the first of equal ones. */
  readonly #functionNames = new Map<string, string>();
  readonly #report: TranslationReport;
  /** The error to throw if the client has no tools of its own; null if it offers no web search. */
  #searchRejection: TranslationError | null = null;

  constructor(report: TranslationReport) {
    this.#report = report;
  }

  get functions(): JsonObject[] {
    return [...this.#byName.values()];
  }

  /** By the name of the function. */
  get clientTools(): ReadonlyMap<string, ClientTool> {
    return this.#clientTools;
  }

  /** Returns the function of the first tool with the name, in any namespace. */
  functionOf(name: string): string | null {
    return this.#functionNames.get(name) ?? null;
  }

  /** Adds the tools of a list at `path`. */
  add(tools: readonly unknown[], path: string, namespace: string | null = null): void {
    for (let index = 0; index < tools.length; index++) {
      const toolPath = `${path}[${index}]`;
      this.#addTool(requireObject(tools[index], toolPath), toolPath, namespace);
    }
  }

  #addTool(tool: JsonObject, path: string, namespace: string | null): void {
    this.#report.dropPresent(tool, DROPPED_OPTIONS);
    switch (tool["type"]) {
      case "function":
        this.#define({ type: "function", name: requireString(tool, "name", path), namespace }, path, {
          description: readString(tool, "description", path),
          parameters: readObject(tool, "parameters", path),
          strict: readBoolean(tool, "strict", path),
        });
        return;
      case "custom":
        this.#define({ type: "custom", name: requireString(tool, "name", path), namespace }, path, {
          description: this.#describeCustomTool(tool, path),
          parameters: CUSTOM_PARAMETERS,
        });
        return;
      case "namespace":
        if (namespace !== null) {
          throw new TranslationError(path, `${path} is a namespace inside of a namespace. Use one level.`);
        }
        if ((tool["description"] ?? "") !== "") this.#report.drop("namespace.description");
        this.add(readArray(tool, "tools", path) ?? [], `${path}.tools`, requireString(tool, "name", path));
        return;
      case "tool_search":
        if (tool["execution"] !== "client") throw hostedTool(tool, path);
        this.#define({ type: "tool_search", name: TOOL_SEARCH, namespace: null }, path, {
          description: readString(tool, "description", path),
          parameters: readObject(tool, "parameters", path),
        });
        return;
      case "web_search":
      case "web_search_preview":
        this.#searchRejection = hostedTool(tool, path);
        this.#report.drop("web_search");
        return;
      default:
        throw hostedTool(tool, path);
    }
  }

  /** Call when all tools are added. */
  rejectSearchAlone(): void {
    if (this.#searchRejection !== null && this.#byName.size === 0) throw this.#searchRejection;
  }

  /** A grammar becomes part of the description, where the model reads it; no other format can enforce it. */
  #describeCustomTool(tool: JsonObject, path: string): string | undefined {
    const description = readString(tool, "description", path);
    const format = readObject(tool, "format", path);
    if (format?.["type"] !== "grammar") return description;
    this.#report.drop("grammar");
    const syntax = readString(format, "syntax", `${path}.format`);
    const kind = syntax === "regex" ? "regular expression" : "Lark grammar";
    const rule = `The input must match this ${kind}:\n${requireString(format, "definition", `${path}.format`)}`;
    return description === undefined ? rule : `${description}\n\n${rule}`;
  }

  /** The results of a search may repeat tools that are already known. */
  #define(tool: ClientTool, path: string, definition: JsonObject): void {
    const name = hubToolName(tool.name, tool.namespace);
    const known = this.#clientTools.get(name);
    if (known !== undefined && (known.type !== tool.type || known.namespace !== tool.namespace)) {
      throw new TranslationError(path, `Two tools are named ${JSON.stringify(name)}. Rename one of them.`);
    }
    this.#clientTools.set(name, tool);
    if (!this.#functionNames.has(tool.name)) this.#functionNames.set(tool.name, name);
    this.#byName.set(name, { type: "function", function: withoutUndefined({ name, ...definition }) });
  }
}

const CUSTOM_PARAMETERS: JsonObject = {
  type: "object",
  properties: { input: { type: "string", description: "The input of the tool, as plain text." } },
  required: ["input"],
  additionalProperties: false,
};

function hostedTool({ type }: JsonObject, path: string): TranslationError {
  const tool = typeof type === "string" ? `The tool ${JSON.stringify(type)}` : "A tool without a type";
  const isSearch = typeof type === "string" && type.startsWith("web_search");
  const fix = isSearch
    ? 'Remove it; in Codex, set web_search = "disabled".'
    : "Remove it, or use a function.";
  return new TranslationError(
    path,
    `${tool} is run by OpenAI, and the provider of the target does not have it. ${fix}`,
  );
}

function withoutUndefined(object: JsonObject): JsonObject {
  const copy: JsonObject = {};
  for (const key in object) if (object[key] !== undefined) copy[key] = object[key];
  return copy;
}

interface ToolSelection {
  tools?: JsonObject[];
  tool_choice?: unknown;
}

/** Returns the tools that the model may call, and whether it has to. */
export function selectTools(choice: unknown, tools: DecodedTools): ToolSelection {
  tools.rejectSearchAlone();
  const { functions } = tools;
  const all: ToolSelection = functions.length === 0 ? {} : { tools: functions };
  if (choice === undefined || choice === null) return all;
  if (choice === "auto" || choice === "none" || choice === "required") {
    // Chat providers reject a choice without tools, where "auto" and "none" have no effect.
    return functions.length === 0 && choice !== "required" ? {} : { ...all, tool_choice: choice };
  }
  if (isJsonObject(choice) && choice["type"] === "allowed_tools") return selectAllowed(choice, tools);
  const name = isJsonObject(choice) ? nameOf(choice, tools) : null;
  if (name === null) throw unknownChoice();
  return { ...all, tool_choice: { type: "function", function: { name } } };
}

/** The other tools are left out, which has the same effect. */
function selectAllowed(choice: JsonObject, tools: DecodedTools): ToolSelection {
  const mode = readString(choice, "mode", "tool_choice") ?? "auto";
  const allowed = new Set<string>();
  for (const tool of readArray(choice, "tools", "tool_choice") ?? []) {
    const name = isJsonObject(tool) ? nameOf(tool, tools) : null;
    if (name === null) throw unknownChoice();
    allowed.add(name);
  }
  const functions = tools.functions.filter(
    ({ function: each }) => isJsonObject(each) && allowed.has(String(each["name"])),
  );
  if (functions.length === 0 && mode === "required") throw unknownChoice();
  return functions.length === 0 ? {} : { tools: functions, tool_choice: mode };
}

/** Returns the name of the function for a reference such as `{"type": "custom", "name": "…"}`; null if there is none. */
function nameOf({ type, name, namespace }: JsonObject, tools: DecodedTools): string | null {
  const { clientTools } = tools;
  if (type === TOOL_SEARCH) return clientTools.has(TOOL_SEARCH) ? TOOL_SEARCH : null;
  if ((type !== "function" && type !== "custom") || typeof name !== "string") return null;
  if (typeof namespace === "string") return hubToolName(name, namespace);
  if (clientTools.get(name)?.namespace === null) return name;
  // The API's references have no namespace.
  return tools.functionOf(name);
}

function unknownChoice(): TranslationError {
  return new TranslationError(
    "tool_choice",
    'tool_choice must be "auto", "none", "required", or name a function or custom tool of the request.',
  );
}
