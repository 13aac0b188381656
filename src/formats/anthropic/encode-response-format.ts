// Translates OpenAI's response_format. A strict schema is a guarantee and becomes Anthropic's structured output
// (output_config.format, without beta header since 2026). A schema that is not strict and json_object are best effort, for
// which Anthropic has no field; they become a sentence in the system prompt, which every model understands.
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { readBoolean, requireObject } from "../read-fields.ts";
import { TranslationError } from "../translation-error.ts";
import type { TranslationReport } from "../translation-report.ts";

interface EncodedResponseFormat {
  /** The schema that Anthropic must enforce. */
  readonly schema: JsonObject | null;
  /** A sentence for the system prompt. */
  readonly instruction: string | null;
}

const ONLY_JSON = "no text before or after it, and no code fence around it.";
/** Deeper than any schema that providers accept; prevents a hostile schema from overflowing the stack. */
const MAX_SCHEMA_DEPTH = 64;

/** Keywords that Anthropic's structured output rejects with 400. OpenAI's strict mode accepts most of them. */
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

export function encodeResponseFormat(format: unknown, report: TranslationReport): EncodedResponseFormat {
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
      return encodeJsonSchema(requireObject(json_schema, "response_format.json_schema"), report);
    default:
      throw new TranslationError(
        "response_format.type",
        'response_format.type must be "text", "json_object", or "json_schema".',
      );
  }
}

function encodeJsonSchema(format: JsonObject, report: TranslationReport): EncodedResponseFormat {
  if ((format["description"] ?? "") !== "") report.drop("json_schema.description");
  const parent = "response_format.json_schema";
  const schema = requireObject(format["schema"], `${parent}.schema`);
  if (readBoolean(format, "strict", parent) === true) {
    return { schema: toSupportedSchema(schema, 0), instruction: null };
  }
  const instruction = `Answer with one JSON value that follows this JSON Schema and nothing else: ${ONLY_JSON}`;
  return { schema: null, instruction: `${instruction}\n${JSON.stringify(schema)}` };
}

/** Moves keywords that Anthropic cannot enforce to the description, where the model still reads them. */
function toSupportedSchema(schema: JsonObject, depth: number): JsonObject {
  if (depth > MAX_SCHEMA_DEPTH) {
    throw new TranslationError(
      "response_format.json_schema.schema",
      `The schema is nested more than ${MAX_SCHEMA_DEPTH} levels deep. Flatten it.`,
    );
  }
  const supported: JsonObject = {};
  const moved: JsonObject = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (isUnsupported(keyword, value)) moved[keyword] = value;
    else supported[keyword] = encodeKeyword(keyword, value, depth + 1);
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

function encodeKeyword(keyword: string, value: unknown, depth: number): unknown {
  const encode = (inner: unknown): unknown => (isJsonObject(inner) ? toSupportedSchema(inner, depth) : inner);
  if (keyword === "items") return encode(value);
  if (SCHEMA_LISTS.has(keyword) && Array.isArray(value)) return value.map(encode);
  if (SCHEMA_MAPS.has(keyword) && isJsonObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, encode(inner)]));
  }
  return value;
}
