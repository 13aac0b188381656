// How claims become a user, labels, and tools.
import { expect, test } from "bun:test";
import type { JsonObject } from "../../base/json.ts";
import { ClaimError, readClaims } from "./token-claims.ts";

const read = (
  payload: JsonObject,
  claims: { user?: string; labels?: Record<string, string>; tools?: string } = {},
) => readClaims(payload, { claims: { user: "sub", labels: {}, tools: null, ...claims } });

test("a name with dots is a claim of this name, or a path", () => {
  const payload = { "a.b": "whole", a: { b: "path", c: { d: "deep" } } };
  expect(read(payload, { user: "a.b" }).user).toBe("whole");
  expect(read(payload, { user: "a.c.d" }).user).toBe("deep");
  expect(() => read(payload, { user: "a.c" })).toThrow(ClaimError);
  expect(() => read(payload, { user: "a.x.d" })).toThrow(
    "The claim a.x.d must be a text of 1 to 256 characters.",
  );
});

test("inherited properties are no claims", () => {
  for (const user of ["constructor.name", "__proto__.x", "toString", "a.constructor.name"])
    expect(() => read({ a: {} }, { user })).toThrow(ClaimError);
});

test("labels are sorted; absent ones are left out, and unusable ones rejected", () => {
  const labels = { team: "t", cost: "c", none: "n" };
  expect(JSON.stringify(read({ sub: "x", t: "search", c: 7 }, { labels }).labels)).toBe(
    '{"cost":"7","team":"search"}',
  );
  for (const t of ["", " ", "x".repeat(129), "a\nb", ["a"], { a: 1 }, null])
    expect(() => read({ sub: "x", t }, { labels })).toThrow(ClaimError);
});

test("tools are an array, or a text with spaces; none without the claim, and all without its name", () => {
  expect(read({ sub: "x" }).tools).toBeNull();
  for (const [value, expected] of [
    [undefined, []],
    [null, []],
    ["", []],
    [" a__*  b ", ["a__*", "b"]],
    [
      ["a", "b*"],
      ["a", "b*"],
    ],
  ])
    expect(read({ sub: "x", s: value }, { tools: "s" }).tools).toEqual(expected as string[]);
  for (const s of [1, true, { a: 1 }, ["a", 1], Array<string>(101).fill("a")])
    expect(() => read({ sub: "x", s }, { tools: "s" })).toThrow(ClaimError);
});
