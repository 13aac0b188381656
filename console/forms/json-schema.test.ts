// Maps JSON Schemas, as zod generates them, to form controls.
import { describe, expect, test } from "bun:test";
import { z } from "zod";
import { matchesVariant, labelFor, interpretSchema, initialValue, type JsonSchema } from "./json-schema.ts";

function schemaOf(type: z.ZodType): JsonSchema {
  return z.toJSONSchema(type, { io: "input", unrepresentable: "any" }) as JsonSchema;
}

describe("the control for", () => {
  test.each([
    ["a string", z.string(), "text"],
    ["an integer", z.int(), "number"],
    ["a boolean", z.boolean(), "boolean"],
    ["an enum", z.enum(["a", "b"]), "choice"],
    ["a constant", z.literal("a"), "constant"],
    ["an array of an enum", z.array(z.enum(["a", "b"])), "multi-choice"],
    ["an array of strings", z.array(z.string()), "list"],
    ["an array of objects", z.array(z.object({ a: z.string() })), "list"],
    ["an object", z.strictObject({ a: z.string() }), "object"],
    ["a record of strings", z.record(z.string(), z.string()), "map"],
    ["a record of objects", z.record(z.string(), z.strictObject({ a: z.string() })), "object"],
    ["a record of unknown", z.record(z.string(), z.unknown()), "json"],
    ["a union", z.union([z.string(), z.number()]), "variants"],
    ["an intersection", z.intersection(z.object({ a: z.string() }), z.object({ b: z.string() })), "object"],
    ["a tuple", z.tuple([z.string(), z.number()]), "json"],
    ["unknown", z.unknown(), "json"],
  ] as const)("%s", (_, type, kind) => {
    const schema = schemaOf(type);
    expect(interpretSchema(schema, schema).kind).toBe(kind);
  });

  test("a nullable type is the control of the type, marked nullable", () => {
    for (const type of [z.string().nullable(), z.boolean().nullable(), z.enum(["a"]).nullable()]) {
      const schema = schemaOf(type);
      const read = interpretSchema(schema, schema);
      expect(read.isNullable).toBe(true);
      expect(read.kind).not.toBe("variants");
    }
  });

  test("a $ref is the control of its target", () => {
    const shared = z.object({ limit: z.int() }).meta({ id: "Shared" });
    const root = schemaOf(z.object({ a: shared, b: shared }));
    expect(interpretSchema(root.properties?.["b"] ?? {}, root).kind).toBe("object");
  });
});

test("an initial value has the required fields with a determined value", () => {
  const root = schemaOf(
    z.strictObject({
      limits: z.strictObject({ global: z.strictObject({ limit: z.int() }).optional() }),
      languages: z.array(z.string()),
      kind: z.literal("a"),
      free: z.string(),
      action: z.string().default("block"),
    }),
  );
  expect(initialValue(root, root)).toEqual({ limits: {}, languages: [], kind: "a" });
});

test("a value matches the variant with its constants", () => {
  const root = schemaOf(
    z.discriminatedUnion("type", [
      z.object({ type: z.literal("fixed"), value: z.number() }),
      z.object({ type: z.literal("share"), percent: z.number() }),
    ]),
  );
  const variants = root.anyOf ?? root.oneOf ?? [];
  const fits = variants.map((variant) => matchesVariant({ type: "share", percent: 1 }, variant, root));
  expect(fits).toEqual([false, true]);
});

test.each([
  ["retry_after", "Retry after"],
  ["per_ip", "Per IP"],
  ["maxTokens", "Max tokens"],
])("%s is labeled %s", (name, label) => expect(labelFor(name, {})).toBe(label));
