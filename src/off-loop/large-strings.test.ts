// Taking large strings out of messages and putting them back.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { attachStrings, detachStrings } from "./large-strings.ts";

const LARGE = ["a".repeat(65_536), "ü".repeat(70_000), "漢".repeat(100_000)];
const { value: message } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 10, depthSize: "medium" },
    fc.constantFrom<unknown>(...LARGE, "short", 1, null, undefined, new Uint8Array(3), new Map([["k", "v"]])),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("a", "b", "0", "__proto__"), tie("value"), {
      maxKeys: 3,
      noNullPrototype: true,
    }),
  ),
}));

/** The length of the longest string up to the level at which strings are copied. */
function longest(value: unknown, level = 0): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null || level >= 8 || ArrayBuffer.isView(value)) return 0;
  return Math.max(0, ...Object.values(value).map((child) => longest(child, level + 1)));
}

test("a message without its large strings becomes the same message with them", () => {
  fc.assert(
    fc.property(message, (given) => {
      const before = structuredClone(given);
      const { value, strings, places } = detachStrings(given);
      expect(longest(value)).toBeLessThan(65_536);
      expect(Bun.deepEquals(given, before, true)).toBe(true);
      const received = attachStrings(structuredClone(value), strings, places);
      expect(Bun.deepEquals(received, before, true)).toBe(true);
    }),
  );
});

test("a message without large strings is not copied", () => {
  const given = { text: "short", list: [{ bytes: new Uint8Array(100_000) }] };
  expect(detachStrings(given)).toEqual({ value: given, strings: [], places: [] });
  expect(detachStrings(given).value).toBe(given);
});
