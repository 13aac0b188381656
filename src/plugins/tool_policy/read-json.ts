// Reads JSON that a condition is matched with: only what all parsers read in the same way.
import { JsonDocument, type JsonNode } from "../../sdk/index.ts";
import { UNREADABLE } from "./policy.ts";

/** Returns UNREADABLE for a text that is not JSON, and for an object with two equal keys: a client may read either. */
export function readJson(text: string): unknown {
  const json = JsonDocument.parse(Buffer.from(text));
  if (json === null || hasEqualKeys(json.root)) return UNREADABLE;
  try {
    return JSON.parse(text);
  } catch {
    return UNREADABLE;
  }
}

function hasEqualKeys(node: JsonNode): boolean {
  return new Set(node.keys).size < node.keys.length || node.children.some(hasEqualKeys);
}
