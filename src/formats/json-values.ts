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
