// The canonical form is the same exactly for texts with the same meaning to every parser.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { canonicalJson } from "./canonical-json.ts";
import { grapheme } from "../../../test/support/characters.ts";

const NONE = { ignored: new Set<string>(), rejected: new Set<string>() };
const canonical = (text: string) => canonicalJson(text, NONE);

/** The naive canonical form: of the parsed value, with sorted keys. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, each]) => [JSON.stringify(key), sorted(each)] as const);
  return { entries: entries.sort(([a], [b]) => (a < b ? -1 : 1)) };
}

const value = fc.dictionary(fc.string({ unit: grapheme, maxLength: 4 }), fc.jsonValue({ maxDepth: 3 }), {
  maxKeys: 5,
  noNullPrototype: true,
});

test("two values have the same form exactly if they are equal, whatever their spelling", () => {
  fc.assert(
    fc.property(value, value, fc.integer({ min: 0, max: 4 }), (a, b, indent) => {
      const [first, second] = [JSON.stringify(a), JSON.stringify(b)];
      expect(canonical(JSON.stringify(a, null, indent))).toBe(canonical(first));
      expect(canonical(first) === canonical(second)).toBe(Bun.deepEquals(sorted(a), sorted(b)));
    }),
  );
});

test("equal keys and large numbers, which parsers read differently, make a difference", () => {
  expect(canonical('{"a":1,"a":2}')).not.toBe(canonical('{"a":2}'));
  expect(canonical('{"a":1,"a":2}')).not.toBe(canonical('{"a":1}'));
  expect(canonical('{"a":1,"a":2}')).not.toBe(canonical('{"a":2,"a":1}'));
  expect(canonical('{"a":1,"b":0,"a":2}')).toBe(canonical('{"b":0,"a":1,"a":2}'));
  expect(canonical('{"a":12345678901234567890}')).not.toBe(canonical('{"a":12345678901234567891}'));
  expect(canonical('{"a":1.0,"b":"\\u0061"}')).toBe(canonical('{"b":"a","a":1}'));
  expect(canonical('{"__proto__":1}')).not.toBe(canonical("{}"));
});

test("fields at the top level are ignored or rejected, also if they are spelled with escapes", () => {
  const topLevel = { ignored: new Set(["stream"]), rejected: new Set(["conversation"]) };
  expect(canonicalJson('{"a":{"stream":1},"\\u0073tream":true}', topLevel)).toBe('{"a":{"stream":1}}');
  expect(canonicalJson('{"a":1,"\\u0063onversation":"c"}', topLevel)).toBeNull();
  expect(canonicalJson('{"a":1,"conversation":null}', topLevel)).toBe('{"a":1,"conversation":null}');
});

test.each(["", "[]", "1", "{", '{"a"}', '{"a":}', '{"a":1,}', '{"a":1} x', '{"a":"\\x"}', '{"a":tru}'])(
  "no form of %p",
  (text) => {
    expect(canonical(text)).toBeNull();
  },
);
