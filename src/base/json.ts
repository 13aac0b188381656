// JSON documents of the Admin API: strict decoding, bounded depth, and JSON merge patch (RFC 7396).
import { parseBounded } from "./bounded-json.ts";
import { GatehouseError, validationError } from "./errors.ts";

export type JsonObject = Record<string, unknown>;

export const MAX_DEPTH = 32;
/** Of one array or object. As many entries as the longest list of a document may have. */
const MAX_ENTRIES = 100_000;
const NUL_OR_LONE_SURROGATE = /\0|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;
const decoder = new TextDecoder("utf-8", { fatal: true });

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the object that a JSON text of a peer holds; null if the text is no JSON, nested too deeply, or holds another value. */
export function parseObject(json: string): JsonObject | null {
  try {
    const value: unknown = parseBounded(json);
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** Decodes a request body to a JSON object. Throws a GatehouseError, also for values that `rejectUnstorable` rejects. */
export function parseJsonObject(bytes: Uint8Array): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(decoder.decode(bytes));
  } catch (cause) {
    throw new GatehouseError("invalid_json", "The body is not valid JSON in UTF-8.", { cause });
  }
  if (!isJsonObject(value)) {
    throw new GatehouseError("invalid_json", "The body must be a JSON object.");
  }
  rejectUnstorable(value, "", 1);
  return value;
}

/**
 * Rejects values that would fail later with a less clear error: deep nesting, `__proto__` (assigning it would change the
 * prototype), lists and objects with very many entries, and text that PostgreSQL cannot store.
 */
export function rejectUnstorable(value: unknown, path: string, depth: number): void {
  if (typeof value === "string") {
    if (NUL_OR_LONE_SURROGATE.test(value)) {
      throw validationError([{ path, message: "must not contain U+0000 or an unpaired surrogate" }]);
    }
    return;
  }
  if (typeof value !== "object" || value === null) return;
  if (depth > MAX_DEPTH) {
    throw validationError([{ path: "", message: `must not be nested more than ${MAX_DEPTH} levels deep` }]);
  }
  const entries = Array.isArray(value) ? value : Object.entries(value);
  if (entries.length > MAX_ENTRIES)
    throw validationError([{ path, message: `must not have more than ${MAX_ENTRIES} entries` }]);
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) rejectUnstorable(item, `${path}[${index}]`, depth + 1);
    return;
  }
  for (const [key, item] of Object.entries(value)) {
    const itemPath = path === "" ? key : `${path}.${key}`;
    if (key === "__proto__") throw validationError([{ path: itemPath, message: "unknown field" }]);
    rejectUnstorable(key, itemPath, depth + 1);
    rejectUnstorable(item, itemPath, depth + 1);
  }
}

/** JSON merge patch (RFC 7396): objects merge, other values replace, null removes a field (its default applies again). */
export function mergePatch(target: unknown, patch: JsonObject): JsonObject;
export function mergePatch(target: unknown, patch: unknown): unknown;
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch;
  const merged: JsonObject = isJsonObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) Reflect.deleteProperty(merged, key);
    else merged[key] = mergePatch(merged[key], value);
  }
  return merged;
}

export function isJsonText(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
