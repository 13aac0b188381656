// Merge patch by the examples and properties of RFC 7396, and what parseJsonObject rejects.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { GatehouseError } from "./errors.ts";
import { mergePatch, parseJsonObject } from "./json.ts";

const plainName = fc.string({ unit: "grapheme-ascii" }).filter((name) => name !== "__proto__");

describe("mergePatch follows RFC 7396", () => {
  // Appendix A: original, patch, result.
  test.each([
    ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
    ['{"a":"b"}', '{"a":null}', "{}"],
    ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
    ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
    ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
    ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
    ['["a","b"]', '["c","d"]', '["c","d"]'],
    ['{"a":"b"}', '["c"]', '["c"]'],
    ['{"a":"foo"}', "null", "null"],
    ['{"a":"foo"}', '"bar"', '"bar"'],
    ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
    ["[1,2]", '{"a":"b","c":null}', '{"a":"b"}'],
    ["{}", '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
  ])("%s patched with %s is %s", (original, patch, result) => {
    expect(mergePatch(JSON.parse(original), JSON.parse(patch))).toEqual(JSON.parse(result));
  });

  const json = fc.jsonValue({ maxDepth: 4 }).map((value) => withoutProto(value));

  test("an empty patch changes nothing", () => {
    fc.assert(
      fc.property(fc.dictionary(plainName, json), (target) => {
        expect(mergePatch(target, {})).toEqual(target);
      }),
    );
  });

  test("patching twice is the same as patching once", () => {
    fc.assert(
      fc.property(json, json, (target, patch) => {
        const once = mergePatch(target, patch);
        expect(mergePatch(once, patch)).toEqual(once);
      }),
    );
  });

  test("neither the target nor the patch is changed", () => {
    fc.assert(
      fc.property(json, json, (target, patch) => {
        const before = JSON.stringify([target, patch]);
        mergePatch(target, patch);
        expect(JSON.stringify([target, patch])).toBe(before);
      }),
    );
  });

  test("names of Object.prototype have no special meaning", () => {
    const patch = JSON.parse('{"constructor":{"a":1},"toString":null,"valueOf":"x"}') as unknown;
    expect(mergePatch({ toString: "gone" }, patch)).toEqual(
      JSON.parse('{"constructor":{"a":1},"valueOf":"x"}'),
    );
  });
});

describe("parseJsonObject", () => {
  const parse = (text: string) => parseJsonObject(new TextEncoder().encode(text));
  const errorOf = (work: () => unknown): GatehouseError => {
    try {
      work();
    } catch (error) {
      if (error instanceof GatehouseError) return error;
      throw error;
    }
    throw new Error("nothing was rejected");
  };

  test("reads an object as JSON.parse does", () => {
    fc.assert(
      fc.property(fc.dictionary(plainName, fc.integer()), (object) => {
        expect(parse(JSON.stringify(object))).toEqual(object);
      }),
    );
  });

  test.each(["", "{", "[]", "null", "1", '"x"', "{} {}", "{'a':1}", "NaN"])(
    "rejects %p as invalid_json",
    (text) => {
      expect(errorOf(() => parse(text)).code).toBe("invalid_json");
    },
  );

  test("rejects bytes that are not UTF-8", () => {
    const bytes = new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]);
    expect(errorOf(() => parseJsonObject(bytes)).code).toBe("invalid_json");
  });

  test("accepts 32 levels and rejects 33", () => {
    const nested = (levels: number) => '{"a":'.repeat(levels) + "1" + "}".repeat(levels);
    expect(() => parse(nested(32))).not.toThrow();
    expect(errorOf(() => parse(nested(33))).code).toBe("validation_failed");
  });

  test.each([
    ['{"a":{"__proto__":1}}', "a.__proto__"],
    ['{"a":["\\u0000"]}', "a[0]"],
    ['{"a":[{"b":"\\ud800"}]}', "a[0].b"],
    ['{"\\udc00":1}', "\udc00"],
  ])("rejects %s at %p", (text, path) => {
    expect(errorOf(() => parse(text)).details?.map((detail) => detail.path)).toEqual([path]);
  });

  test("accepts surrogate pairs", () => {
    expect(parse('{"a":"🚀","🚀":"\\ud83d\\ude80"}')).toEqual({ a: "🚀", "🚀": "🚀" });
  });
});

function withoutProto(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), function (this: unknown, key: string, item: unknown) {
    return key === "__proto__" ? undefined : item;
  });
}
