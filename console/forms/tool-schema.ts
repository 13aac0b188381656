// The input schema of a tool in the form that the controls of a form can represent. MCP servers choose the schemas, so that
// nothing in them is certain: parts that are unusual, recursive, or too deep become values that are edited as JSON.
import type { JsonSchema } from "./json-schema.ts";

const MAX_DEPTH = 6;
const MAX_PROPERTIES = 100;
const MAX_REFERENCES = 16;
/** Names that the path of a form field cannot contain. */
const UNUSABLE_NAME = /[.[\]]|^__proto__$|^$/;

/** Edited as JSON. */
const ANY: JsonSchema = {};

type Unknown = Readonly<Record<string, unknown>>;

/** Returns null if the arguments of the tool can be edited only as JSON. */
export function toolFormSchema(inputSchema: unknown): JsonSchema | null {
  if (!isRecord(inputSchema)) return null;
  const schema = convert(inputSchema, inputSchema, 0);
  return schema.type === "object" && schema.properties !== undefined ? schema : null;
}

function convert(source: unknown, root: Unknown, depth: number): JsonSchema {
  const found = isRecord(source) ? resolve(source, root) : null;
  if (found === null || depth > MAX_DEPTH) return ANY;
  const shared = textsOf(found);
  const inner = (each: unknown) => convert(each, root, depth + 1);
  if (found["const"] !== undefined) return { ...shared, const: found["const"] };
  const { enum: values, type } = found;
  if (Array.isArray(values) && values.length > 0)
    return values.every(isSimple) ? { ...shared, enum: values as readonly unknown[] } : shared;
  const variants = found["anyOf"] ?? found["oneOf"];
  if (Array.isArray(variants)) return variantsOf(variants.map(inner), shared);
  if (Array.isArray(type))
    return variantsOf(
      (type as readonly unknown[]).map((each) => inner({ ...found, type: each })),
      shared,
    );
  switch (type) {
    case "null":
    case "boolean":
    case "string":
      return { ...shared, type };
    case "integer":
    case "number":
      return { ...shared, type, ...boundsOf(found) };
    case "array":
      return found["prefixItems"] === undefined && isRecord(found["items"])
        ? { ...shared, type, items: inner(found["items"]) }
        : shared;
    case "object":
      return objectOf(found, shared, inner);
    default:
      return shared;
  }
}

/** A schema that is not understood as a whole would leave fields out: `allOf` and conditions are edited as JSON. */
function objectOf(
  { properties = {}, required, allOf, if: condition, additionalProperties }: Unknown,
  shared: JsonSchema,
  inner: (source: unknown) => JsonSchema,
): JsonSchema {
  if (allOf !== undefined || condition !== undefined || !isRecord(properties)) return shared;
  const entries = Object.entries(properties);
  if (entries.length > MAX_PROPERTIES || entries.some(([name]) => UNUSABLE_NAME.test(name))) return shared;
  const isMap = entries.length === 0 && isRecord(additionalProperties);
  return {
    ...shared,
    type: "object",
    // The names are what the tool documents and reports in errors.
    properties: Object.fromEntries(entries.map(([name, field]) => [name, { ...inner(field), title: name }])),
    required: Array.isArray(required) ? required.filter((name) => typeof name === "string") : [],
    ...(isMap && { additionalProperties: inner(additionalProperties) }),
  };
}

/** Without a type, a variant could not be distinguished from the others. */
function variantsOf(variants: readonly JsonSchema[], shared: JsonSchema): JsonSchema {
  const isClear = variants.every(
    ({ type, const: constant, enum: values }) => (type ?? constant ?? values) !== undefined,
  );
  const [only] = variants;
  if (!isClear || only === undefined) return shared;
  return variants.length === 1 ? { ...only, ...shared } : { ...shared, anyOf: variants };
}

function textsOf({ description, default: initial }: Unknown): JsonSchema {
  return {
    ...(typeof description === "string" && { description }),
    ...(initial !== undefined && initial !== null && { default: initial }),
  };
}

function boundsOf({ minimum, maximum }: Unknown): JsonSchema {
  return {
    ...(typeof minimum === "number" && { minimum }),
    ...(typeof maximum === "number" && { maximum }),
  };
}

/** Returns null for a reference that leads nowhere, or in a circle. References of other documents are never followed. */
function resolve(source: Unknown, root: Unknown): Unknown | null {
  let current = source;
  for (let count = 0; current["$ref"] !== undefined; count++) {
    const { $ref: reference, ...siblings } = current;
    const address = typeof reference === "string" ? reference : "";
    const [, group = "", name = ""] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(address) ?? [];
    const definitions = root[group];
    const target = isRecord(definitions) && Object.hasOwn(definitions, name) ? definitions[name] : undefined;
    if (!isRecord(target) || count >= MAX_REFERENCES) return null;
    current = { ...target, ...siblings };
  }
  return current;
}

function isSimple(value: unknown): boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}

function isRecord(value: unknown): value is Unknown {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
