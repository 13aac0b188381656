// The tools of a Responses request whose calls are no plain function calls. In the hub format all tools are functions:
// custom tools have one field, `input`; the name of a namespace becomes part of the function's name; the search for tools
// that the client runs itself is a function like others.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { sha256 } from "../../base/sha256.ts";

export interface ClientTool {
  readonly type: "function" | "custom" | "tool_search";
  readonly name: string;
  readonly namespace: string | null;
}

export const TOOL_SEARCH = "tool_search";

/** The names that all providers accept for functions. */
const VALID_NAME = /^[A-Za-z0-9_-]{1,64}$/;
const HASH_LENGTH = 10;
const MAX_PREFIX_LENGTH = 64 - HASH_LENGTH - 1;

/** Returns the name of the function in the hub format. It depends on nothing else, so that old calls keep their names. */
export function hubToolName(name: string, namespace: string | null): string {
  if (namespace === null) return name;
  const joined = `${namespace}__${name}`;
  if (VALID_NAME.test(joined)) return joined;
  const prefix = joined.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, MAX_PREFIX_LENGTH);
  return `${prefix}_${sha256(joined).slice(0, HASH_LENGTH)}`;
}

/** Returns the tools of a request whose calls are no plain function calls, by the name of the function. Ignores invalid ones. */
export function clientToolsIn({ tools, input }: JsonObject): ReadonlyMap<string, ClientTool> {
  const found = new Map<string, ClientTool>();
  collect(tools, null, found);
  if (Array.isArray(input))
    for (const item of input) if (isJsonObject(item)) collect(item["tools"], null, found);
  return found;
}

function collect(tools: unknown, namespace: string | null, found: Map<string, ClientTool>): void {
  if (!Array.isArray(tools)) return;
  for (const tool of tools) {
    if (!isJsonObject(tool)) continue;
    const { type, name, tools: inner } = tool;
    if (type === TOOL_SEARCH) found.set(TOOL_SEARCH, { type, name: TOOL_SEARCH, namespace: null });
    else if (typeof name !== "string") continue;
    else if (type === "namespace") {
      if (namespace === null) collect(inner, name, found);
    } else if (type === "custom" || (type === "function" && namespace !== null)) {
      found.set(hubToolName(name, namespace), { type, name, namespace });
    }
  }
}
