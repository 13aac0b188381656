// Warnings about conditions of tool_policy: keywords that JSON Schema ignores.
import { expect, test } from "bun:test";
import { gatewayRecord } from "../../../test/contract/store-records.ts";
import { pluginWarnings } from "./plugin-warnings.ts";

function warningsFor(when: unknown): string[] {
  const rules = [
    { tool: "a", source: "called", action: "allow" },
    { tool: "b", source: "called", action: "deny", when },
  ];
  const [plugin] = gatewayRecord({
    required_plugins: [
      {
        name: "tool_policy",
        stage: "pre_request",
        priority: 0,
        enabled: true,
        on_error: "fail",
        isolation: "inline",
        mode: "enforce",
        sample: 1,
        settings: { rules },
      },
    ],
  } as unknown as Parameters<typeof gatewayRecord>[0]).required_plugins;
  if (plugin === undefined) throw new Error("no plugin");
  return pluginWarnings(gatewayRecord({ required_plugins: [plugin] })).map(
    ({ places, message }) => `${places[0]?.path}: ${message}`,
  );
}

const AT = "required_plugins[0].settings.rules[1].when";

test("a keyword that JSON Schema does not know is ignored, and named", () => {
  expect(warningsFor({ properties: { command: { pattren: "rm" } } })).toEqual([
    `${AT}.properties.command.pattren: is no keyword of JSON Schema and is ignored; did you mean pattern?`,
  ]);
  expect(warningsFor({ anyOf: [{ not: { "x-note": 1 } }], items: { $defs: { a: { zzzzzz: 1 } } } })).toEqual([
    `${AT}.items.$defs.a.zzzzzz: is no keyword of JSON Schema and is ignored`,
  ]);
});

test("keywords of JSON Schema, and names of properties, are not", () => {
  const when = {
    $id: "https://example.com/a",
    title: "x",
    properties: { pattren: { const: { zzz: 1 } } },
    enum: [{ z: 1 }],
  };
  expect(warningsFor(when)).toEqual([]);
});
