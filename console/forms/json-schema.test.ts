// What control each part of a JSON Schema asks for, as zod writes them.
import { describe, expect, test } from "bun:test";
import { z } from "zod";
import { fitsVariant, labelOf, readSchema, startOf, type JsonSchema } from "./json-schema.ts";

function schemaOf(type: z.ZodType): JsonSchema {
  return z.toJSONSchema(type, { io: "input", unrepresentable: "any" }) as JsonSchema;
}

describe("the control of a schema", () => {
  test.each([
    ["a text", z.string(), "text"],
    ["a whole number", z.int(), "number"],
    ["yes or no", z.boolean(), "boolean"],
    ["one of a few", z.enum(["a", "b"]), "choice"],
    ["a constant", z.literal("a"), "constant"],
    ["several of a few", z.array(z.enum(["a", "b"])), "several"],
    ["a list of texts", z.array(z.string()), "list"],
    ["a list of objects", z.array(z.object({ a: z.string() })), "list"],
    ["an object", z.strictObject({ a: z.string() }), "object"],
    ["names to texts", z.record(z.string(), z.string()), "map"],
    ["names to anything", z.record(z.string(), z.unknown()), "json"],
    ["either of two", z.union([z.string(), z.number()]), "variants"],
    ["both of two", z.intersection(z.object({ a: z.string() }), z.object({ b: z.string() })), "object"],
    ["a pair", z.tuple([z.string(), z.number()]), "json"],
    ["anything", z.unknown(), "json"],
  ] as const)("%s", (_, type, kind) => {
    const schema = schemaOf(type);
    expect(readSchema(schema, schema).kind).toBe(kind);
  });

  test("null is taken out and told apart", () => {
    for (const type of [z.string().nullable(), z.boolean().nullable(), z.enum(["a"]).nullable()]) {
      const schema = schemaOf(type);
      const read = readSchema(schema, schema);
      expect(read.isNullable).toBe(true);
      expect(read.kind).not.toBe("variants");
    }
  });

  test("references are followed", () => {
    const shared = z.object({ limit: z.int() }).meta({ id: "Shared" });
    const root = schemaOf(z.object({ a: shared, b: shared }));
    expect(readSchema(root.properties?.["b"] ?? {}, root).kind).toBe("object");
  });
});

test("a part starts with all that must be there and can be known", () => {
  const root = schemaOf(
    z.strictObject({
      limits: z.strictObject({ global: z.strictObject({ limit: z.int() }).optional() }),
      languages: z.array(z.string()),
      kind: z.literal("a"),
      free: z.string(),
      action: z.string().default("block"),
    }),
  );
  expect(startOf(root, root)).toEqual({ limits: {}, languages: [], kind: "a" });
});

test("a value is known as the variant whose constants it has", () => {
  const root = schemaOf(
    z.discriminatedUnion("type", [
      z.object({ type: z.literal("fixed"), value: z.number() }),
      z.object({ type: z.literal("share"), percent: z.number() }),
    ]),
  );
  const variants = root.anyOf ?? root.oneOf ?? [];
  const fits = variants.map((variant) => fitsVariant({ type: "share", percent: 1 }, variant, root));
  expect(fits).toEqual([false, true]);
});

test.each([
  ["retry_after", "Retry after"],
  ["per_ip", "Per IP"],
  ["maxTokens", "Max tokens"],
])("%s is labelled %s", (name, label) => expect(labelOf(name, {})).toBe(label));
