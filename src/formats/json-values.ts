// Values in the JSON of providers and clients, which may have any type.
import { isJsonObject, type JsonObject } from "../base/json.ts";

/** Returns the value if it is a text, else an empty text. */
export function textOrEmpty(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Returns the objects of a list; none if the value is no list. */
export function objectsIn(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** Returns the object that a JSON text holds; null if the text is no JSON or holds another value. */
export function parseObject(json: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(json);
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}
