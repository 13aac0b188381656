// Items between threads: in the same order, and in pieces that are read without delaying others.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { LARGE_LENGTH } from "../../off-loop/large-strings.ts";
import { packItems, unpackItems } from "./packed-items.ts";

interface Item {
  readonly text: string;
  readonly at: number | null;
}

const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.constantFrom("\ud83d", "é".repeat(30_000), "a".repeat(LARGE_LENGTH), '"'.repeat(LARGE_LENGTH - 1)),
);
const item = fc.record({ text, at: fc.option(fc.integer()) });

const pack = (items: readonly Item[]) => [...packItems(items, (each) => each.text.length)];

test("items are the same in the other thread, and large texts are not written as JSON", () => {
  fc.assert(
    fc.property(fc.array(item, { maxLength: 30 }), (items) => {
      const pieces = pack(items);
      expect(pieces.flatMap((piece) => unpackItems<Item>(piece))).toEqual(items);
      const large = items.filter((each) => each.text.length >= LARGE_LENGTH);
      expect(pieces.filter((piece) => typeof piece !== "string")).toEqual(large);
    }),
  );
});

test("each piece but the last is large enough to be shared, and none is much larger", () => {
  const pieces = pack(Array.from({ length: 20_000 }, (_, at) => ({ text: "abc", at })));
  const lengths = pieces.map((piece) => (typeof piece === "string" ? piece.length : 0));
  expect(lengths.length).toBeGreaterThan(5);
  expect(Math.min(...lengths.slice(0, -1))).toBeGreaterThanOrEqual(LARGE_LENGTH);
  expect(Math.max(...lengths)).toBeLessThan(2 * LARGE_LENGTH);
});
