// The types that fields of a document have, and the conversion of the value of a variable to them.
import { describe, expect, test } from "bun:test";
import { z } from "zod";
import { resolveVariables, applyDefaults } from "./document-variables.ts";

const target = (fields: object) => ({ gateways: [{ upstreams: [{ targets: [fields] }] }] });
const AT = "gateways[0].upstreams[0].targets[0]";
const inTarget = (fields: object, environment: Record<string, string> = {}) => {
  const { document, problems } = resolveVariables(target(fields), environment);
  return { document, problems };
};

describe("a value that is exactly one reference", () => {
  test("is a number or a boolean where the schema expects one", () => {
    const given = { weight: "${W}", timeouts: { total: "${T:-1500}" } };
    const document = {
      version: "${V:-1}",
      gateways: [
        { require_api_key: "${YES}", upstreams: [{ targets: [given], timeouts: { total: "${T:-1500}" } }] },
      ],
      prices: [{ model: "m", input_per_million: "${P}" }],
    };
    const resolved = resolveVariables(document, { W: "7", YES: "true", P: "0.25" });
    expect(resolved.problems).toEqual([]);
    expect(resolved.document).toEqual({
      version: 1,
      gateways: [
        {
          require_api_key: true,
          upstreams: [{ targets: [{ weight: 7, timeouts: { total: "1500" } }], timeouts: { total: 1500 } }],
        },
      ],
      prices: [{ model: "m", input_per_million: 0.25 }],
    });
  });

  test("stays a string where the schema expects one, or in part of a text", () => {
    const document = { gateways: [{ name: "${N}", log_bodies: "x${N}" }] };
    expect(resolveVariables(document, { N: "42" })).toMatchObject({
      document: { gateways: [{ name: "42", log_bodies: "x42" }] },
      problems: [],
    });
  });

  test.each([
    ["weight", "${X}", "seven", 'must be a whole number, but ${X} is "seven"'],
    ["weight", "${X}", "1.5", 'must be a whole number, but ${X} is "1.5"'],
    ["weight", "${X}", "0x10", 'must be a whole number, but ${X} is "0x10"'],
    ["weight", "${X}", " 1", 'must be a whole number, but ${X} is " 1"'],
    ["weight", "${Y:-many}", "", 'must be a whole number, but the default of ${Y} is "many"'],
  ])(
    "%s: %s that is no such value is a problem that names the variable and the value",
    (field, text, X, message) => {
      expect(inTarget({ [field]: text }, { X }).problems).toEqual([{ path: `${AT}.${field}`, message }]);
    },
  );

  test("a boolean is true or false", () => {
    const resolve = (X: string) => resolveVariables({ gateways: [{ log_bodies: "${X}" }] }, { X });
    expect(resolve("false").document).toEqual({ gateways: [{ log_bodies: false }] });
    expect(resolve("yes").problems).toEqual([
      { path: "gateways[0].log_bodies", message: 'must be true or false, but ${X} is "yes"' },
    ]);
  });

  test("has the type of the plugin's settings schema in the settings of a plugin that is known", () => {
    const settings = z.strictObject({
      limit: z.int().optional(),
      either: z.union([z.string(), z.number()]),
      by: z.record(z.string(), z.union([z.strictObject({ on: z.boolean() }), z.null()])),
    });
    const given = { limit: "${N}", either: "${N}", by: { x: { on: "${ON}" } } };
    const document = {
      gateways: [
        {
          required_plugins: [
            { name: "known", settings: given },
            { name: "custom", settings: given },
          ],
        },
      ],
    };
    const settingsOf = (name: string) => (name === "known" ? settings : undefined);
    const resolved = resolveVariables(document, { N: "5", ON: "true" }, settingsOf);
    expect(resolved.problems).toEqual([]);
    expect(resolved.document).toEqual({
      gateways: [
        {
          required_plugins: [
            { name: "known", settings: { limit: 5, either: "5", by: { x: { on: true } } } },
            { name: "custom", settings: { limit: "5", either: "5", by: { x: { on: "true" } } } },
          ],
        },
      ],
    });
  });

  test("is converted from its default where no environment is read", () => {
    expect(applyDefaults(target({ weight: "${W:-3}" }))).toEqual({
      document: target({ weight: 3 }),
      problems: [],
    });
    expect(applyDefaults(target({ weight: "3" })).document).toEqual(target({ weight: "3" }));
  });
});
