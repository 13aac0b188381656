// Whether OpenAI's strict mode accepts a JSON Schema: every object lists all of its properties as required and allows no
// others. Anthropic's structured output also accepts optional properties.
import { isJsonObject, type JsonObject } from "../../base/json.ts";

/** Deeper schemas are rejected by providers. */
const MAX_DEPTH = 64;
const SCHEMA_MAPS = ["properties", "$defs", "definitions"] as const;
const SCHEMA_LISTS = ["anyOf", "prefixItems"] as const;

export function isStrictSchema(schema: unknown): boolean {
  return isJsonObject(schema) && isStrict(schema, 0);
}

function isStrict(schema: JsonObject, depth: number): boolean {
  if (depth > MAX_DEPTH || !hasOnlyRequired(schema)) return false;
  // Strict mode has neither of them.
  if (schema["oneOf"] !== undefined || schema["allOf"] !== undefined) return false;
  const inner: unknown[] = [schema["items"]];
  for (const key of SCHEMA_MAPS) {
    const map = schema[key];
    if (isJsonObject(map)) inner.push(...Object.values(map));
  }
  for (const key of SCHEMA_LISTS) {
    const list = schema[key];
    if (Array.isArray(list)) for (const each of list) inner.push(each);
  }
  return inner.every((each) => !isJsonObject(each) || isStrict(each, depth + 1));
}

function hasOnlyRequired({ type, properties, required, additionalProperties }: JsonObject): boolean {
  const isObject = type === "object" || (Array.isArray(type) && type.includes("object"));
  if (!isObject && properties === undefined) return true;
  if (additionalProperties !== false) return false;
  if (!isJsonObject(properties)) return true;
  const names = new Set<unknown>(Array.isArray(required) ? required : []);
  return Array.isArray(required) && Object.keys(properties).every((name) => names.has(name));
}
