import { expect, test } from "bun:test";
import fc from "fast-check";
import { runs } from "../../test/support/long-form.ts";
import { isSameBesideMeta, isSameDefinition } from "../model/definition-hash.ts";
import { headerText, readHeaderText } from "./header-text.ts";
import {
  definitionHash,
  headerArguments,
  headerMismatch,
  headersForArguments,
  readArguments,
} from "./tool-definition.ts";
import { grapheme } from "../../test/support/characters.ts";

test("the hash depends on everything but the order of keys, and tells whether only _meta differs", () => {
  const tool = { name: "a", inputSchema: { type: "object", properties: { x: { type: "string" } } } };
  const hash = definitionHash(tool);
  const reordered = {
    inputSchema: { properties: { x: { type: "string" } }, type: "object" },
    name: "a",
  };
  expect(definitionHash(reordered)).toBe(hash);
  const withMeta = definitionHash({ ...tool, _meta: { at: 1 } });
  expect(withMeta).not.toBe(hash);
  expect(isSameBesideMeta(withMeta, hash)).toBe(true);
  // The digest of earlier versions, which did not know `_meta`.
  const old = hash.slice(hash.lastIndexOf(".") + 1);
  expect([isSameDefinition(old, withMeta), isSameDefinition(hash, withMeta)]).toEqual([true, false]);
  expect(isSameDefinition("", withMeta)).toBe(false);
  for (const changed of [
    { ...tool, description: "d" },
    { ...tool, annotations: {} },
    { ...tool, name: "b" },
  ])
    expect(isSameBesideMeta(definitionHash(changed), hash)).toBe(false);
});

const definition = {
  name: "query",
  inputSchema: {
    type: "object",
    properties: {
      region: { type: "string", "x-mcp-header": "Region" },
      nested: { type: "object", properties: { count: { type: "integer", "x-mcp-header": "Count" } } },
      other: { type: "string" },
      items: { type: "array", items: { type: "string", "x-mcp-header": "Ignored" } },
    },
  },
};

test("arguments that a tool wants in header fields", () => {
  const found = headerArguments(definition);
  const headers = headersForArguments(
    readArguments(found, { region: "zürich", nested: { count: 3 }, other: "x" }),
  );
  expect(headers).toEqual({
    "mcp-param-region": `=?base64?${Buffer.from("zürich").toString("base64")}?=`,
    "mcp-param-count": "3",
  });
  const check = (given: Record<string, string>, region = "a") =>
    headerMismatch(readArguments(found, { region, nested: { count: 3 } }), (name) => given[name] ?? null);
  expect(check({ "mcp-param-region": "a", "mcp-param-count": "3.0" })).toBeNull();
  expect(check({ "mcp-param-region": "a" })).toContain("mcp-param-count is missing");
  expect(check({ "mcp-param-region": "b", "mcp-param-count": "3" })).toContain("differs");
  expect(check({ "mcp-param-region": "=?base64?!?=", "mcp-param-count": "3" })).toContain("not valid Base64");
});

test("every text survives a header field", () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string({ unit: grapheme }), fc.constantFrom("", " a", "=?base64?x?=", "a\nb", "ü")),
      (text) => {
        const value = headerText(text);
        expect(value).toMatch(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/);
        expect(readHeaderText(value)).toBe(text.toWellFormed());
      },
    ),
    { numRuns: runs({ short: 100, long: 5000 }) },
  );
});
