// Translates OpenAI's response_format. A strict schema is a guarantee and becomes Anthropic's structured output
// (output_config.format, no beta header since 2026); a plain one, and json_object, promise an effort only, for
// which Anthropic has no field: they become a sentence in the system prompt, which every model understands.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { readBoolean, requireObject } from "./chat-fields.ts";
import { TranslationError } from "./translation-error.ts";

export interface TranslatedResponseFormat {
  /** The schema Anthropic is to enforce. */
  readonly schema: JsonObject | null;
  /** What to add to the system prompt. */
  readonly instruction: string | null;
}

const ONLY_JSON = "no text before or after it, and no code fence around it.";
/** Deeper than any schema a provider takes; keeps a hostile one from exhausting the stack. */
const MAX_SCHEMA_DEPTH = 64;

// Structured outputs refuse these keywords with a 400, while OpenAI's strict mode takes most of them.
const UNSUPPORTED_KEYWORDS = new Set([
  "exclusiveMaximum",
  "exclusiveMinimum",
  "maxItems",
  "maxLength",
  "maximum",
  "minItems",
  "minLength",
  "minimum",
  "multipleOf",
  "uniqueItems",
]);
const SCHEMA_MAPS = new Set(["$defs", "definitions", "properties"]);
const SCHEMA_LISTS = new Set(["allOf", "anyOf", "oneOf"]);

export function translateResponseFormat(format: unknown): TranslatedResponseFormat {
  if (format === undefined || format === null) return { schema: null, instruction: null };
  const { type, json_schema } = requireObject(format, "response_format");
  switch (type) {
    case "text":
      return { schema: null, instruction: null };
    case "json_object":
      return {
        schema: null,
        instruction: `Answer with one valid JSON object and nothing else: ${ONLY_JSON}`,
      };
    case "json_schema":
      return translateJsonSchema(requireObject(json_schema, "response_format.json_schema"));
    default:
      throw new TranslationError(
        "response_format.type",
        'response_format.type must be "text", "json_object" or "json_schema".',
      );
  }
}

function translateJsonSchema(format: JsonObject): TranslatedResponseFormat {
  const parent = "response_format.json_schema";
  const schema = requireObject(format["schema"], `${parent}.schema`);
  if (readBoolean(format, "strict", parent) === true) {
    return { schema: toSupportedSchema(schema, 0), instruction: null };
  }
  const instruction = `Answer with one JSON value that follows this JSON Schema and nothing else: ${ONLY_JSON}`;
  return { schema: null, instruction: `${instruction}\n${JSON.stringify(schema)}` };
}

/** Moves what Anthropic cannot enforce into the description, where the model still reads it. */
function toSupportedSchema(schema: JsonObject, depth: number): JsonObject {
  if (depth > MAX_SCHEMA_DEPTH) {
    throw new TranslationError(
      "response_format.json_schema.schema",
      "The schema is nested too deeply: flatten it.",
    );
  }
  const supported: JsonObject = {};
  const moved: JsonObject = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (isUnsupported(keyword, value)) moved[keyword] = value;
    else supported[keyword] = translateKeyword(keyword, value, depth + 1);
  }
  if (Object.keys(moved).length > 0) {
    const note = `Must satisfy ${JSON.stringify(moved)}.`;
    const description = schema["description"];
    supported["description"] = typeof description === "string" ? `${description} ${note}` : note;
  }
  return supported;
}

function isUnsupported(keyword: string, value: unknown): boolean {
  if (keyword === "minItems" && (value === 0 || value === 1)) return false;
  return UNSUPPORTED_KEYWORDS.has(keyword);
}

function translateKeyword(keyword: string, value: unknown, depth: number): unknown {
  const translate = (inner: unknown): unknown =>
    isJsonObject(inner) ? toSupportedSchema(inner, depth) : inner;
  if (keyword === "items") return translate(value);
  if (SCHEMA_LISTS.has(keyword) && Array.isArray(value)) return value.map(translate);
  if (SCHEMA_MAPS.has(keyword) && isJsonObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, translate(inner)]));
  }
  return value;
}
