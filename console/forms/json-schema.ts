// Interprets the JSON Schema of a plugin's settings: which form control represents each part.

export interface JsonSchema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
  readonly title?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly default?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: JsonSchema | boolean;
  readonly items?: JsonSchema;
  readonly prefixItems?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  /** Of `additionalProperties`: what their names begin with. Users enter the rest. */
  readonly "x-name-prefix"?: string;
}

type Kind =
  | "constant"
  | "choice"
  | "boolean"
  | "number"
  | "text"
  | "multi-choice"
  | "list"
  | "object"
  | "map"
  | "variants"
  /** No control fits; the part is edited as JSON. */
  | "json";

interface InterpretedSchema {
  readonly kind: Kind;
  /** The schema with references resolved and null removed. */
  readonly schema: JsonSchema;
  readonly isNullable: boolean;
}

const MAX_REFERENCES = 16;

export function interpretSchema(source: JsonSchema, root: JsonSchema): InterpretedSchema {
  const { schema, isNullable } = extractNull(mergeAllOf(resolveReference(source, root), root), root);
  return { kind: kindOf(schema, root), schema, isNullable };
}

function resolveReference(schema: JsonSchema, root: JsonSchema): JsonSchema {
  let current = schema;
  for (let count = 0; current.$ref !== undefined && count < MAX_REFERENCES; count++) {
    const { $ref, ...siblings } = current;
    const target = $ref === "#" ? root : root.$defs?.[$ref.replace(/^#\/\$defs\//, "")];
    current = { ...target, ...siblings };
  }
  return current;
}

/** Merges the parts of `allOf` into one object schema. */
function mergeAllOf(schema: JsonSchema, root: JsonSchema): JsonSchema {
  if (schema.allOf === undefined) return schema;
  const parts = schema.allOf.map((part) => resolveReference(part, root));
  return {
    ...schema,
    type: "object",
    properties: Object.assign({}, ...parts.map((part) => part.properties)) as Record<string, JsonSchema>,
    required: parts.flatMap((part) => part.required ?? []),
  };
}

function extractNull(schema: JsonSchema, root: JsonSchema): { schema: JsonSchema; isNullable: boolean } {
  if (Array.isArray(schema.type)) {
    const types = (schema.type as readonly string[]).filter((type) => type !== "null");
    const isNullable = types.length < schema.type.length;
    const [only] = types;
    if (types.length === 1 && only !== undefined) return { schema: { ...schema, type: only }, isNullable };
    const { description, title } = schema;
    const anyOf = types.map((type) => ({ type }));
    return {
      schema: {
        anyOf,
        ...(description !== undefined && { description }),
        ...(title !== undefined && { title }),
      },
      isNullable,
    };
  }
  const variants = schema.anyOf ?? schema.oneOf;
  if (variants === undefined) return { schema, isNullable: false };
  const rest = variants.filter((variant) => variant.type !== "null");
  const [only] = rest;
  if (rest.length === variants.length) return { schema, isNullable: false };
  const siblings = Object.fromEntries(
    Object.entries(schema).filter(([name]) => name !== "anyOf" && name !== "oneOf"),
  ) as JsonSchema;
  if (rest.length === 1 && only !== undefined)
    return { schema: { ...resolveReference(only, root), ...siblings }, isNullable: true };
  return { schema: { ...siblings, anyOf: rest }, isNullable: true };
}

function kindOf(schema: JsonSchema, root: JsonSchema): Kind {
  if (schema.const !== undefined) return "constant";
  if (schema.enum !== undefined) return "choice";
  if ((schema.anyOf ?? schema.oneOf) !== undefined) return "variants";
  switch (schema.type) {
    case "boolean":
      return "boolean";
    case "integer":
    case "number":
      return "number";
    case "string":
      return "text";
    case "array":
      return listKind(schema, root);
    case "object":
      return objectKind(schema);
    default:
      return "json";
  }
}

function listKind({ items, prefixItems }: JsonSchema, root: JsonSchema): Kind {
  if (items === undefined || prefixItems !== undefined) return "json";
  const item = resolveReference(items, root);
  return item.enum?.every((value) => typeof value === "string") === true ? "multi-choice" : "list";
}

function objectKind({ properties, additionalProperties }: JsonSchema): Kind {
  if (properties !== undefined && Object.keys(properties).length > 0) return "object";
  if (typeof additionalProperties !== "object") return "json";
  return additionalProperties.type === "string"
    ? "map"
    : additionalProperties.type === "object"
      ? "object"
      : "json";
}

/** Returns the value of a newly added part: its required fields, as far as their values are determined. */
export function initialValue(source: JsonSchema, root: JsonSchema): unknown {
  const { kind, schema } = interpretSchema(source, root);
  switch (kind) {
    case "constant":
      return schema.const;
    case "object": {
      const fields = Object.entries(schema.properties ?? {})
        .filter(([name]) => schema.required?.includes(name) === true)
        .map(([name, field]) => [name, initialValue(field, root)] as const)
        .filter(([, value]) => value !== undefined);
      return Object.fromEntries(fields);
    }
    case "multi-choice":
    case "list":
      return [];
    case "map":
      return {};
    case "boolean":
      return false;
    case "variants":
      return initialValue((schema.anyOf ?? schema.oneOf)?.[0] ?? {}, root);
    default:
      return undefined;
  }
}

/** `retry_after` as a label: "Retry after". */
export function labelFor(name: string, schema: JsonSchema): string {
  if (schema.title !== undefined) return schema.title;
  const spaced = name
    .replaceAll(/[_-]+/g, " ")
    .replaceAll(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase();
  const label = spaced.replaceAll(/\b(ip|id|url|api|http|json)\b/g, (acronym) => acronym.toUpperCase());
  return label.charAt(0).toUpperCase() + label.slice(1);
}

/** Labels a variant by its title, its discriminating constants, or its type. */
export function variantLabel(variant: JsonSchema, index: number): string {
  if (variant.title !== undefined) return variant.title;
  const constants = Object.entries(variant.properties ?? {}).filter(([, field]) => field.const !== undefined);
  if (constants.length > 0)
    return constants.map(([name, field]) => `${name}: ${String(field.const)}`).join(", ");
  if (variant.const !== undefined) return JSON.stringify(variant.const);
  return typeof variant.type === "string" ? variant.type : `Variant ${index + 1}`;
}

/** Whether a value has the variant's type and constants. */
export function matchesVariant(value: unknown, source: JsonSchema, root: JsonSchema): boolean {
  const { kind, schema } = interpretSchema(source, root);
  switch (kind) {
    case "constant":
      return value === schema.const;
    case "choice":
      return schema.enum?.includes(value) === true;
    case "boolean":
      return typeof value === "boolean";
    case "number":
      return typeof value === "number";
    case "text":
      return typeof value === "string";
    case "list":
    case "multi-choice":
      return Array.isArray(value);
    case "object": {
      if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
      const record = value as Record<string, unknown>;
      return Object.entries(schema.properties ?? {}).every(
        ([name, field]) => field.const === undefined || record[name] === field.const,
      );
    }
    default:
      return typeof value === "object" && value !== null;
  }
}
