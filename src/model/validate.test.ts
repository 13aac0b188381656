// Conversion of zod issues to error details: paths and messages.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { z } from "zod";
import { GatehouseError } from "../base/errors.ts";
import { apiKeySchema } from "./api-key.ts";
import { gatewaySchema } from "./gateway.ts";
import { ruleSchema } from "./rule.ts";
import { serviceSchema } from "./service.ts";
import { upstreamSchema } from "./upstream.ts";
import { check, formatPath, validate } from "./validate.ts";

describe("formatPath", () => {
  test.each([
    [[], ""],
    [["name"], "name"],
    [["targets", 0, "weight"], "targets[0].weight"],
    [
      ["required_plugins", 1, "settings", "limits", "global", "window"],
      "required_plugins[1].settings.limits.global.window",
    ],
    [["matrix", 1, 2], "matrix[1][2]"],
    [[0], "[0]"],
  ] as const)("%j is %s", (path, text) => expect(formatPath(path)).toBe(text));

  test("truncates a long name", () => expect(formatPath(["x".repeat(10_000)])).toHaveLength(101));
});

describe("check", () => {
  const schema = z.strictObject({
    name: z.string(),
    list: z.array(z.strictObject({ weight: z.int().min(0).max(9).default(1) })).default([]),
    mode: z.enum(["fast", "slow"]).optional(),
    kind: z.literal("only").optional(),
    either: z.union([z.literal("auto"), z.int().min(1)]).optional(),
    code: z.string().min(2).optional(),
    few: z.array(z.string()).min(1).max(2).optional(),
    free: z.record(z.string().regex(/^X-/, "must start with X-"), z.string()).optional(),
  });
  const problems = (value: unknown) => {
    const result = check(schema, value);
    return result.ok ? [] : result.details.map(({ path, message }) => `${path}: ${message}`);
  };

  test.each([
    [{}, "name: is required"],
    [{ name: null }, "name: must be a string, not null"],
    [{ name: ["x"] }, "name: must be a string, not an array"],
    [{ name: "x", list: {} }, "list: must be an array, not an object"],
    [{ name: "x", list: [{ weight: "1" }] }, "list[0].weight: must be a number, not a string"],
    [{ name: "x", list: [{}, { weight: 1.5 }] }, "list[1].weight: must be a whole number, not a fraction"],
    [{ name: "x", list: [{ weight: -1 }] }, "list[0].weight: must be at least 0"],
    [{ name: "x", list: [{ weight: 10 }] }, "list[0].weight: must be at most 9"],
    [{ name: "x", list: [{ wieght: 1 }] }, 'list[0].wieght: unknown field; did you mean "weight"?'],
    [{ name: "x", nmae: 1 }, 'nmae: unknown field; did you mean "name"?'],
    [{ name: "x", quite_another: 1 }, "quite_another: unknown field"],
    [{ name: "x", mode: "fats" }, 'mode: must be one of "fast", "slow"; did you mean "fast"?'],
    [{ name: "x", kind: "other" }, 'kind: must be "only"'],
    [{ name: "x", either: "never" }, 'either: must be "auto" or a number, not a string'],
    [{ name: "x", either: 1.5 }, 'either: must be "auto" or a whole number, not a fraction'],
    [{ name: "x", either: 0 }, "either: must be at least 1"],
    [{ name: "x", code: "" }, "code: must have at least 2 characters"],
    [{ name: "x", few: [] }, "few: must have at least 1 entry"],
    [{ name: "x", few: ["a", "b", "c"] }, "few: must have at most 2 entries"],
    [{ name: "x", free: { y: "1" } }, "free.y: must start with X-"],
    [{ name: "x", free: { "X-a": 1 } }, "free.X-a: must be a string, not a number"],
  ])("%j", (value, error) => expect(problems(value)).toEqual([error]));

  test("reports all problems, but at most 50", () => {
    expect(problems({ list: [{ weight: 77 }], mode: 1 })).toHaveLength(3);
    const many = { name: "x", list: Array.from({ length: 500 }, () => ({ weight: "x" })) };
    expect(problems(many)).toHaveLength(50);
    expect(problems(Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`f${i}`, 1])))).toHaveLength(
      50,
    );
  });

  test("returns the value with its defaults", () => {
    expect(check(schema, { name: "x", list: [{}] })).toEqual({
      ok: true,
      value: { name: "x", list: [{ weight: 1 }] },
    });
  });
});

describe("validate", () => {
  test("throws a 400 whose message is the first problem", () => {
    expect(() => validate(z.strictObject({ a: z.string(), b: z.string() }), {})).toThrow(
      "a: is required (and 1 more",
    );
  });

  // expires_at is tested in test/e2e/admin-fields-records.test.ts.
  const schemas: [string, z.ZodType][] = [
    ["gateway", gatewaySchema],
    ["upstream", upstreamSchema],
    ["service", serviceSchema],
    ["rule", ruleSchema],
    ["API key", apiKeySchema.omit({ expires_at: true })],
  ];
  test.each(schemas)("any value is either accepted as a %s or rejected with details", (_, schema) => {
    const fields = Object.keys((schema as z.ZodObject).shape);
    const body = fc.oneof(fc.jsonValue(), fc.dictionary(fc.constantFrom(...fields), fc.jsonValue()));
    fc.assert(
      fc.property(body, (value) => {
        try {
          validate(schema, value);
        } catch (error) {
          expect(error).toBeInstanceOf(GatehouseError);
          expect((error as GatehouseError).details).not.toBeEmpty();
        }
      }),
    );
  });
});
