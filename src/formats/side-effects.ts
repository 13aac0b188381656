// Whether a request changes something at the provider beyond the response: it stores the response, or the provider runs tools. Such
// a request must not be sent twice.
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { isEmptyValue } from "./stream-opening.ts";

/** Types of tools that clients run. Those of Anthropic end with a date, such as `bash_20250124`. */
const CLIENT_TOOL =
  /^(?:function|custom|local_shell|apply_patch|computer_use_preview|(?:bash|text_editor|computer|memory)_\d+)$/;
/** Fields of tools of Gemini; all others are tools that Google runs. */
const GEMINI_FUNCTIONS: ReadonlySet<string> = new Set(["functionDeclarations", "function_declarations"]);
/** Their mere presence makes the provider search, call servers, run code, or store turns. */
const EFFECTS = [
  "web_search_options",
  "search_parameters",
  "plugins",
  "mcp_servers",
  "container",
  "conversation",
];

/** `storesByDefault`: a response is stored unless the request says otherwise. */
export function hasSideEffects(body: JsonObject, storesByDefault: boolean): boolean {
  const { store, background, tools } = body;
  if (store === undefined || store === null ? storesByDefault : store !== false) return true;
  if (background !== undefined && background !== null && background !== false) return true;
  if (EFFECTS.some((name) => !isEmptyValue(body[name]))) return true;
  if (isEmptyValue(tools)) return false;
  return !Array.isArray(tools) || !tools.every(isRunByClient);
}

function isRunByClient(tool: unknown): boolean {
  if (!isJsonObject(tool)) return false;
  const { type } = tool;
  if (type === undefined || type === null)
    return "name" in tool || Object.keys(tool).every((name) => GEMINI_FUNCTIONS.has(name));
  if (type === "namespace") return Array.isArray(tool["tools"]) && tool["tools"].every(isRunByClient);
  if (type === "tool_search") return tool["execution"] === "client";
  return typeof type === "string" && CLIENT_TOOL.test(type);
}
