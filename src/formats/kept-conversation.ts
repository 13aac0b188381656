// Whether a request continues a conversation that its provider keeps, so that the body has only what is new.
import { foldCase } from "../base/fold-case.ts";
import type { JsonDocument } from "../base/json-nodes.ts";

const FIELDS: ReadonlySet<string> = new Set(["previous_response_id", "conversation"]);

/** Returns the field that names the conversation, as it is written, or null. Its value is not null. */
export function keptConversationOf(json: JsonDocument): string | null {
  const { keys, children } = json.root;
  for (const [index, key] of keys.entries()) {
    const value = children[index];
    if (value === undefined || !FIELDS.has(foldCase(key))) continue;
    if (value.type !== "scalar" || json.source(value) !== "null") return key;
  }
  return null;
}
