// Readers for unvalidated JSON: each function returns a usable value for any input.

export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

export function stringOf(value: unknown, otherwise = ""): string {
  return typeof value === "string" ? value : otherwise;
}

/** Returns the text of a message's content, which both wire formats allow as a string or as a list of parts. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return listOf(content)
    .map((part) => stringOf(objectOf(part)["text"]))
    .filter((text) => text !== "")
    .join("\n");
}
