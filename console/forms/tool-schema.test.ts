// Input schemas of tools: what becomes a form control, and that schemas of any kind are safe to show.
import { expect, test } from "bun:test";
import { initialValue, interpretSchema } from "./json-schema.ts";
import { toolFormSchema } from "./tool-schema.ts";

const kindsOf = (inputSchema: unknown) => {
  const schema = toolFormSchema(inputSchema);
  if (schema === null) return null;
  const fields = Object.entries(schema.properties ?? {});
  return Object.fromEntries(fields.map(([name, field]) => [name, interpretSchema(field, schema).kind]));
};

test("common schemas become controls, with the names of the arguments as labels", () => {
  const schema = {
    type: "object",
    properties: {
      city: { type: "string", title: "Place", description: "Where." },
      days: { type: ["integer", "null"], minimum: 1, maximum: 7 },
      unit: { enum: ["c", "f"], default: "c" },
      exact: { type: "boolean" },
      tags: { type: "array", items: { type: "string" } },
      at: { $ref: "#/definitions/point" },
      where: { anyOf: [{ type: "string" }, { $ref: "#/definitions/point" }] },
      labels: { type: "object", additionalProperties: { type: "string" } },
    },
    required: ["city", 7],
    definitions: { point: { type: "object", properties: { x: { type: "number" } }, required: ["x"] } },
  };
  expect(kindsOf(schema)).toEqual({
    ...{ city: "text", days: "number", unit: "choice", exact: "boolean", tags: "list" },
    ...{ at: "object", where: "variants", labels: "map" },
  });
  expect(toolFormSchema(schema)).toMatchObject({
    properties: { city: { title: "city", description: "Where." }, days: { anyOf: [{ maximum: 7 }, {}] } },
    required: ["city"],
  });
  expect(toolFormSchema({ type: "object" })).toMatchObject({ properties: {} });
});

test.each([
  [{ type: "object", properties: { a: { $ref: "https://example.com/schema" } } }, { a: "json" }],
  [{ type: "object", properties: { a: { $ref: "#/$defs/none" } } }, { a: "json" }],
  [{ type: "object", properties: { a: { $ref: "#/$defs/toString" } }, $defs: {} }, { a: "json" }],
  [
    { type: "object", properties: { a: { $ref: "#/$defs/a" } }, $defs: { a: { $ref: "#/$defs/a" } } },
    { a: "json" },
  ],
  [
    { type: "object", properties: { a: true, b: null, c: [], d: 1 } },
    { a: "json", b: "json", c: "json", d: "json" },
  ],
  [
    { type: "object", properties: { a: { enum: [{}] }, b: { enum: [] } } },
    { a: "json", b: "json" },
  ],
  [{ type: "object", properties: { a: { anyOf: [{}, { type: "string" }] } } }, { a: "json" }],
  [
    { type: "object", properties: { a: { anyOf: [] }, b: { type: "array", items: true } } },
    { a: "json", b: "json" },
  ],
  [{ type: "object", properties: { a: { type: "object", allOf: [{}] } } }, { a: "json" }],
  [{ type: "object", properties: [1] }, null],
  [{ type: "object", properties: { "a.b": { type: "string" } } }, null],
  [{ type: "object", properties: JSON.parse('{"__proto__": {"type": "string"}}') }, null],
  [{ type: "string" }, null],
  [undefined, null],
  [null, null],
])("%j is edited as JSON where it is unusual", (schema, expected) => {
  expect(kindsOf(schema)).toEqual(expected as never);
});

test("a recursive schema ends", () => {
  const tree = { type: "object", properties: { next: { $ref: "#/$defs/tree" } }, required: ["next"] };
  const schema = toolFormSchema({ ...tree, $defs: { tree } });
  const nested = JSON.stringify(initialValue(schema ?? {}, schema ?? {}));
  expect(nested).toStartWith('{"next":{"next":');
  expect(nested.length).toBeLessThan(100);
});
