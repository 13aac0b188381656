// The text that a stream event carries, for estimates of the output of streams that ended before their usage was reported.
import { isJsonObject, type JsonObject } from "../base/json.ts";

/** Returns the value if it is a text, else an empty text. */
export function textOrEmpty(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Returns the objects of a list; none if the value is no list. */
export function objectsIn(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
