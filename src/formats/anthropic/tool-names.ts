// Names of tools. Anthropic accepts up to 128 characters, which agents with MCP servers use; other formats accept 64. Longer names
// are shortened in requests and restored in responses.
import { isJsonObject } from "../../base/json.ts";
import { sha256 } from "../../base/sha256.ts";

const MAX_LENGTH = 64;
const HASH_LENGTH = 10;

/** Returns the name in the hub format. It depends on nothing else, so that calls of earlier turns keep their names. */
export function toHubToolName(name: string): string {
  if (name.length <= MAX_LENGTH) return name;
  return `${name.slice(0, MAX_LENGTH - HASH_LENGTH - 1)}_${sha256(name).slice(0, HASH_LENGTH)}`;
}

/** Returns the names of the tools that were shortened, by the name in the hub format. */
export function renamedToolsIn(tools: unknown): ReadonlyMap<string, string> {
  const renamed = new Map<string, string>();
  if (!Array.isArray(tools)) return renamed;
  for (const tool of tools) {
    const name: unknown = isJsonObject(tool) ? tool["name"] : null;
    if (typeof name === "string" && name.length > MAX_LENGTH) renamed.set(toHubToolName(name), name);
  }
  return renamed;
}
