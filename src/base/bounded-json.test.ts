// JSON of peers is parsed up to a depth and a number of values; brackets within strings do not count.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { parseBounded } from "./bounded-json.ts";

const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);

test("512 levels are parsed, and more are an error", () => {
  expect(() => parseBounded(nested(512))).not.toThrow();
  expect(() => parseBounded(nested(513))).toThrow("more than 512 levels");
  expect(() => parseBounded(`{"a":${nested(100_000)}}`)).toThrow("more than 512 levels");
});

test("brackets within strings are no levels, however they are escaped", () => {
  const text = fc.string({ unit: fc.constantFrom('"', "\\", "[", "{", "é"), maxLength: 3000 });
  fc.assert(
    fc.property(fc.array(text, { maxLength: 20 }), (values) => {
      const padded = [...values, "[".repeat(2000)];
      expect(parseBounded(JSON.stringify(padded))).toEqual(padded);
    }),
  );
});

test("more values than allowed are an error", () => {
  const text = `[${"[],".repeat(1000)}[]]`;
  expect(() => parseBounded(text, 3000)).not.toThrow();
  expect(() => parseBounded(text, 1000)).toThrow("more than 1000 values");
});
