// Removes the values of records that equal their defaults, for exports and for the description of changes.
import { z } from "zod";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { recordSchemas } from "./document.ts";
import { pluginConfigSchema } from "./plugin-config.ts";
import { defaultModeOf } from "./plugin-stage.ts";
import { alternativeFor, unwrapSchema } from "./schema-walk.ts";

/**
 * Returns a part of a record without the fields that equal their defaults. `path` is that of the part in the record, such as
 * `targets[1]`. Returns undefined if the part as a whole equals its default. Fields that the schema does not know are kept.
 */
export function withoutDefaults(resource: string, path: string, value: unknown): unknown {
  let schema: unknown = recordSchemas.get(resource);
  for (const [, name, index] of path.matchAll(/([^.[\]]+)|\[(\d+)\]/g)) {
    const parent = unwrapSchema(schema);
    if (parent instanceof z.ZodObject) schema = Reflect.get(parent.shape, name ?? "");
    else schema = parent instanceof z.ZodArray && index !== undefined ? parent.element : undefined;
  }
  return Bun.deepEquals(defaultOf(schema), value, true) ? undefined : compact(schema, value, true);
}

/** Removes values that equal their default in the schema, and fields that it does not have. */
export function compactObject(schema: z.ZodObject, value: unknown, keepsUnknown = false): JsonObject {
  const fields = isJsonObject(value) ? value : {};
  const kept = Object.entries<unknown>(schema.shape).flatMap(([name, field]) => {
    const isMode = schema === pluginConfigSchema && name === "mode";
    const usual = isMode ? defaultModeOf(fields["name"]) : defaultOf(field);
    const isDefault = Bun.deepEquals(usual, fields[name], true);
    return isDefault ? [] : [[name, compact(field, fields[name], keepsUnknown)] as const];
  });
  const unknown = Object.entries(fields).filter(
    ([name]) => keepsUnknown && !Object.hasOwn(schema.shape, name),
  );
  return Object.fromEntries([...kept, ...unknown]);
}

/** The fields follow the order of the schema. */
function compact(schema: unknown, value: unknown, keepsUnknown: boolean): unknown {
  const inner = value === null ? schema : alternativeFor(unwrapSchema(schema), value);
  if (inner instanceof z.ZodObject) return compactObject(inner, value, keepsUnknown);
  if (inner instanceof z.ZodArray && Array.isArray(value))
    return value.map((item) => compact(inner.element, item, keepsUnknown));
  return value;
}

const NO_DEFAULT = Symbol("no default");
const defaults = new WeakMap<z.ZodType, unknown>();

function defaultOf(schema: unknown): unknown {
  if (!(schema instanceof z.ZodType)) return NO_DEFAULT;
  if (!defaults.has(schema)) {
    const parsed = schema.safeParse(undefined);
    defaults.set(schema, parsed.success ? parsed.data : NO_DEFAULT);
  }
  return defaults.get(schema);
}
