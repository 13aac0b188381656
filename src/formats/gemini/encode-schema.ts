// JSON Schema for Gemini, which takes it as it is with one exception: a node with a reference may have few other keywords.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { TranslationError } from "../translation-error.ts";
import type { TranslationReport } from "../translation-report.ts";

/** Gemini rejects other keywords beside `$ref`, except those that start with `$`. */
const ALLOWED_BESIDE_REFERENCE: ReadonlySet<string> = new Set(["default", "description"]);
/** Keywords whose values are data, not schemas. */
const DATA_KEYWORDS: ReadonlySet<string> = new Set(["const", "default", "enum", "example", "examples"]);
/** Deeper than any schema that providers accept; prevents a hostile schema from overflowing the stack. */
const MAX_DEPTH = 64;

/** Returns the same object if nothing has to be left out, and reports `schema` as dropped otherwise. `path` is for errors. */
export function encodeSchema(schema: JsonObject, path: string, report: TranslationReport): JsonObject {
  const encoded = encodeObject(schema, path, 0);
  if (encoded !== schema) report.drop("schema");
  return encoded;
}

function encodeNode(node: unknown, path: string, depth: number): unknown {
  if (typeof node !== "object" || node === null) return node;
  if (depth > 2 * MAX_DEPTH) {
    throw new TranslationError(path, `The schema is nested more than ${MAX_DEPTH} levels deep. Flatten it.`);
  }
  if (Array.isArray(node)) {
    const items: unknown[] = node.map((item) => encodeNode(item, path, depth + 1));
    return items.every((item, index) => item === node[index]) ? node : items;
  }
  return isJsonObject(node) ? encodeObject(node, path, depth) : node;
}

function encodeObject(node: JsonObject, path: string, depth: number): JsonObject {
  const isReference = typeof node["$ref"] === "string";
  let changed: JsonObject | null = null;
  for (const keyword of Object.keys(node)) {
    const value = node[keyword];
    if (isReference && !keyword.startsWith("$") && !ALLOWED_BESIDE_REFERENCE.has(keyword)) {
      changed ??= { ...node };
      Reflect.deleteProperty(changed, keyword);
    } else if (typeof value === "object" && !DATA_KEYWORDS.has(keyword)) {
      const encoded = encodeNode(value, path, depth + 1);
      if (encoded !== value) (changed ??= { ...node })[keyword] = encoded;
    }
  }
  return changed ?? node;
}
