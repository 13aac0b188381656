// Splicing is equivalent to parsing, setting, and serializing, and keeps all other bytes.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { insertFirst, spliceTopLevelString } from "./json-splice.ts";

describe("spliceTopLevelString", () => {
  test("leaves every other byte unchanged", () => {
    const text = '{ "a" : 12345678901234567890 ,\n "model" : "x\\"y" , "b":[{"model":"inner"},"}"] }';
    expect(spliceTopLevelString(text, "model", "new")).toBe(
      '{ "a" : 12345678901234567890 ,\n "model" : "new" , "b":[{"model":"inner"},"}"] }',
    );
  });

  test("inserts a missing key first", () => {
    expect(spliceTopLevelString('{"a":1}', "model", "m")).toBe('{"model":"m","a":1}');
    expect(spliceTopLevelString(" { } ", "model", "m")).toBe(' {"model":"m" } ');
  });

  test("changes all duplicates of a key, and keys written with escapes", () => {
    expect(spliceTopLevelString('{"model":1,"model":"b"}', "model", "m")).toBe('{"model":"m","model":"m"}');
    expect(spliceTopLevelString('{"mod\\u0065l":"b"}', "model", "m")).toBe('{"mod\\u0065l":"m"}');
  });

  test("property: is equivalent to parsing, setting, and serializing", () => {
    const object = fc.dictionary(fc.oneof(fc.constant("model"), fc.string()), fc.jsonValue());
    fc.assert(
      fc.property(object, fc.string(), fc.constantFrom(0, 1, "\t"), (value, model, indent) => {
        const spliced: unknown = JSON.parse(
          spliceTopLevelString(JSON.stringify(value, null, indent), "model", model),
        );
        expect(spliced).toEqual(JSON.parse(JSON.stringify({ ...value, model })));
      }),
      { numRuns: 500 },
    );
  });
});

describe("insertFirst", () => {
  test("inserts fields first, also after leading whitespace or a byte order mark", () => {
    const bytes = (text: string) => new TextEncoder().encode(text);
    for (const before of ["", "  ", "\n\t", "\uFEFF"]) {
      const text = `${before}{ "a": "{\u00e4", "b": 12345678901234567890 } `;
      const spliced = insertFirst(bytes(text), bytes('"x":{"y":1},'));
      expect(Buffer.from(spliced).toString()).toBe(text.replace("{", '{"x":{"y":1},'));
    }
  });
});
