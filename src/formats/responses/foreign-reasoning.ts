// Removes the reasoning items that the gateway wrote for reasoning of other formats: OpenAI rejects them.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { isPacked } from "../reasoning-details.ts";

/** Returns a copy. */
export function withoutForeignReasoning(body: JsonObject): JsonObject {
  const { input } = body;
  return Array.isArray(input) ? { ...body, input: input.filter((item) => !isForeign(item)) } : body;
}

function isForeign(item: unknown): boolean {
  return isJsonObject(item) && item["type"] === "reasoning" && isPacked(item["encrypted_content"]);
}
