// Removes the reasoning items that the gateway wrote for reasoning of other formats: OpenAI rejects them.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { isPacked } from "../reasoning-details.ts";
import { isCopy, resolveReferences } from "./item-copies.ts";

/** Returns a copy. */
export function withoutForeignReasoning(body: JsonObject): JsonObject {
  const { input } = body;
  if (!Array.isArray(input)) return body;
  return { ...body, input: resolveReferences(input).filter((item) => !isForeign(item) && !isCopy(item)) };
}

function isForeign(item: unknown): boolean {
  return isJsonObject(item) && item["type"] === "reasoning" && isPacked(item["encrypted_content"]);
}
