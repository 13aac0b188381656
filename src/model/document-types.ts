// The types that fields of a document have: a reference to the environment becomes a number or a boolean where one is expected.
import { z } from "zod";
import { isJsonObject } from "../base/json.ts";
import { documentSchema } from "./document.ts";
import { pluginConfigSchema } from "./plugin-config.ts";
import { childSchema, unwrapSchema } from "./schema-walk.ts";

/** Returns the schema of a plugin's settings; undefined for a plugin that is not known. */
export type SettingsSchemaOf = (plugin: string) => z.ZodType | undefined;

/** `other` is a string, or a value that no text can represent. */
type FieldType = "number" | "whole number" | "boolean" | "other";

const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const INTEGER_FORMATS: ReadonlySet<string> = new Set(["safeint", "int32", "uint32"]);
const MAX_SHOWN_CHARACTERS = 40;

type Converted = { readonly value: string | number | boolean } | { readonly problem: string };

/** Converts the value of a variable to the type of the field at `path`. `source` names the variable in the problem. */
export function convertVariable(
  text: string,
  path: readonly PropertyKey[],
  document: unknown,
  settingsOf: SettingsSchemaOf,
  source: string,
): Converted {
  const types = typesAt(path, document, settingsOf);
  if (types.size === 0 || types.has("other")) return { value: text };
  if (types.has("boolean") && (text === "true" || text === "false")) return { value: text === "true" };
  const number = JSON_NUMBER.test(text) ? Number(text) : NaN;
  const isAllowed = types.has("whole number") ? Number.isSafeInteger(number) : Number.isFinite(number);
  if (isAllowed && (types.has("number") || types.has("whole number"))) return { value: number };
  const expected = [...types].map((type) => (type === "boolean" ? "true or false" : `a ${type}`));
  const shown = text.length > MAX_SHOWN_CHARACTERS ? `${text.slice(0, MAX_SHOWN_CHARACTERS)}…` : text;
  return { problem: `must be ${expected.join(" or ")}, but ${source} is ${JSON.stringify(shown)}` };
}

/** Returns the types that the field may have. Empty if the schema has no such field. */
function typesAt(
  path: readonly PropertyKey[],
  document: unknown,
  settingsOf: SettingsSchemaOf,
): ReadonlySet<FieldType> {
  let schemas = alternatives(documentSchema);
  let value = document;
  for (const key of path) {
    const parent = value;
    schemas = schemas.flatMap((schema) => alternatives(fieldOf(schema, key, parent, settingsOf)));
    value = typeof parent === "object" && parent !== null ? Reflect.get(parent, key) : undefined;
  }
  return new Set(schemas.map(typeOf));
}

function fieldOf(
  schema: z.ZodType,
  key: PropertyKey,
  parent: unknown,
  settingsOf: SettingsSchemaOf,
): unknown {
  if (schema === pluginConfigSchema && key === "settings") {
    const name = isJsonObject(parent) ? parent["name"] : undefined;
    return typeof name === "string" ? settingsOf(name) : undefined;
  }
  return childSchema(schema, key);
}

/** Returns the schemas that a value may match, without defaults and other wrappers. Null is not one of them. */
function alternatives(wrapped: unknown): z.ZodType[] {
  const schema = unwrapSchema(wrapped);
  if (schema instanceof z.ZodUnion) return schema.options.flatMap(alternatives);
  return schema instanceof z.ZodType && !(schema instanceof z.ZodNull) ? [schema] : [];
}

function typeOf(schema: z.ZodType): FieldType {
  if (schema instanceof z.ZodNumber)
    return INTEGER_FORMATS.has(schema.format ?? "") ? "whole number" : "number";
  if (schema instanceof z.ZodBoolean) return "boolean";
  if (schema instanceof z.ZodLiteral && [...schema.values].every((value) => typeof value === "number"))
    return "number";
  return "other";
}
