// A value is parsed as JSON.parse does, whatever was parsed before.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { LastJsonText } from "./last-json-text.ts";

/** Few different values, so that equal ones follow each other, some of them spelled with escapes, long, or no strings. */
const spelledValue = fc.constantFrom(
  '"gpt-4o"',
  '"gpt-4"',
  '"gpt-5o"',
  '"gpt-4\\u006f"',
  '"größe"',
  '""',
  '"\\""',
  `"${"a".repeat(98)}"`,
  `"${"a".repeat(99)}"`,
  "{}",
  "[1]",
  "12345678",
  "null",
);

test("a value is what JSON.parse returns for it, in any order of values and at any place", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(spelledValue, fc.nat({ max: 3 })), { maxLength: 40 }), (values) => {
      const last = new LastJsonText();
      for (const [spelled, offset] of values) {
        const bytes = Buffer.from(`${" ".repeat(offset)}${spelled},"model"`);
        const end = offset + Buffer.byteLength(spelled);
        expect(last.parse(bytes, offset, end)).toEqual(JSON.parse(spelled));
      }
    }),
  );
});

test("objects are not shared between calls", () => {
  const last = new LastJsonText();
  const bytes = Buffer.from("{}");
  expect(last.parse(bytes, 0, 2)).not.toBe(last.parse(bytes, 0, 2));
});

test("the memory of a value that was parsed may be used for other bytes", () => {
  const last = new LastJsonText();
  const bytes = Buffer.from('"one"');
  expect(last.parse(bytes, 0, 5)).toBe("one");
  bytes.write('"two"');
  expect(last.parse(bytes, 0, 5)).toBe("two");
});
