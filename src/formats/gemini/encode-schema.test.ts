// Schemas for Gemini: unchanged, except beside references.
import fc from "fast-check";
import { expect, test } from "bun:test";
import type { JsonObject } from "../../base/json.ts";
import { TranslationError } from "../translation-error.ts";
import { TranslationReport } from "../translation-report.ts";
import { encodeSchema } from "./encode-schema.ts";

function encode(schema: JsonObject) {
  const report = new TranslationReport();
  return { schema: encodeSchema(schema, "s", report), dropped: report.dropped };
}

test("a schema without references is the same object", () => {
  const schema = {
    type: "object",
    properties: {
      $ref: { type: "string" },
      a: { anyOf: [{ type: "null" }, { enum: [{ $ref: "x", type: 1 }] }] },
    },
  };
  expect(encode(schema).schema).toBe(schema);
  expect(encode(schema).dropped).toEqual([]);
});

test("keywords beside a reference are left out, except definitions, description and default", () => {
  const schema = {
    $defs: { a: { type: "object", properties: { self: { $ref: "#/$defs/a", title: "Self" } } } },
    properties: {
      one: { $ref: "#/$defs/a", type: "object", title: "One", description: "1", default: {} },
      several: { type: "array", items: [{ $ref: "#/$defs/a", nullable: true }, { type: "string" }] },
    },
  };
  const before = structuredClone(schema);
  const encoded = encode(schema);
  expect(encoded.dropped).toEqual(["schema"]);
  expect(encoded.schema).toEqual({
    $defs: { a: { type: "object", properties: { self: { $ref: "#/$defs/a" } } } },
    properties: {
      one: { $ref: "#/$defs/a", description: "1", default: {} },
      several: { type: "array", items: [{ $ref: "#/$defs/a" }, { type: "string" }] },
    },
  });
  expect(schema).toEqual(before);
  const root = { $ref: "#/$defs/a", $defs: { a: { type: "object" } }, type: "object" };
  expect(encode(root).schema).toEqual({ $ref: "#/$defs/a", $defs: { a: { type: "object" } } });
});

test("a schema nested too deeply is rejected", () => {
  let schema: JsonObject = {};
  for (let level = 0; level < 10_000; level++) schema = { items: schema };
  expect(() => encode(schema)).toThrow(TranslationError);
});

test("any JSON without references is returned unchanged", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 5 })), (schema) => {
      expect(encode(schema).schema).toBe(schema);
    }),
  );
});
