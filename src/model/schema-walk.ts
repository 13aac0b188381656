// Walks from the schema of a value to the schemas of its fields.
import { z } from "zod";

/** Returns the schema inside defaults, optional and nullable wrappers, and the input of pipes: what follows it if it only prepares the value. */
export function unwrapSchema(schema: unknown): unknown {
  if (
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodOptional
  )
    return unwrapSchema(schema.unwrap());
  if (!(schema instanceof z.ZodPipe)) return schema;
  return unwrapSchema(schema.in instanceof z.ZodTransform ? schema.out : schema.in);
}

/** Returns the alternative of a discriminated union that a value selects; any other schema as it is. */
export function alternativeFor(schema: unknown, value: unknown): unknown {
  if (!(schema instanceof z.ZodDiscriminatedUnion)) return schema;
  const { discriminator } = schema.def;
  const selected: unknown =
    typeof value === "object" && value !== null ? Reflect.get(value, discriminator) : undefined;
  return schema.options.find((option) => {
    const field: unknown =
      option instanceof z.ZodObject ? Reflect.get(option.shape, discriminator) : undefined;
    return field instanceof z.ZodType && field.safeParse(selected).success;
  });
}

/** Returns the alternatives of a discriminated union; any other schema as the only one. */
export function alternativesOf(schema: unknown): readonly unknown[] {
  return schema instanceof z.ZodDiscriminatedUnion ? schema.options : [schema];
}

/** Returns the schema of a field of an object, an element of an array, or a value of a record; undefined if there is none. */
export function childSchema(schema: unknown, key: PropertyKey): unknown {
  if (schema instanceof z.ZodObject) return Reflect.get(schema.shape, key);
  if (schema instanceof z.ZodArray) return schema.element;
  return schema instanceof z.ZodRecord ? schema.valueType : undefined;
}
