// Splicing equals parsing, setting and serialising, but for what only bytes can tell.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { spliceTopLevelString } from "./json-splice.ts";

describe("spliceTopLevelString", () => {
  test("leaves every other byte as it was", () => {
    const text = '{ "a" : 12345678901234567890 ,\n "model" : "x\\"y" , "b":[{"model":"inner"},"}"] }';
    expect(spliceTopLevelString(text, "model", "new")).toBe(
      '{ "a" : 12345678901234567890 ,\n "model" : "new" , "b":[{"model":"inner"},"}"] }',
    );
  });

  test("puts a missing key first", () => {
    expect(spliceTopLevelString('{"a":1}', "model", "m")).toBe('{"model":"m","a":1}');
    expect(spliceTopLevelString(" { } ", "model", "m")).toBe(' {"model":"m" } ');
  });

  test("changes every one of doubled keys, and keys written with escapes", () => {
    expect(spliceTopLevelString('{"model":1,"model":"b"}', "model", "m")).toBe('{"model":"m","model":"m"}');
    expect(spliceTopLevelString('{"mod\\u0065l":"b"}', "model", "m")).toBe('{"mod\\u0065l":"m"}');
  });

  test("equals parse, set, serialise for any JSON object and any spacing", () => {
    const object = fc.dictionary(fc.oneof(fc.constant("model"), fc.string()), fc.jsonValue());
    fc.assert(
      fc.property(object, fc.string(), fc.constantFrom(0, 1, "\t"), (value, model, indent) => {
        const spliced: unknown = JSON.parse(
          spliceTopLevelString(JSON.stringify(value, null, indent), "model", model),
        );
        expect(spliced).toEqual(JSON.parse(JSON.stringify({ ...value, model })));
      }),
      { numRuns: 2000 },
    );
  });
});
