// Tests that the source map finds the source of a unit whatever was asked before.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { SourceMap } from "./source-map.ts";

/** Every third unit was created from three units. */
function mapOf(entries: number): SourceMap {
  const map = new SourceMap();
  for (let entry = 0; entry < entries; entry++) map.add(entry * 3 + 2, entry * 5 + 2, entry * 5 + 5);
  return map;
}

function spanOf(map: SourceMap, index: number): number[] {
  return [map.startOf(index), map.endOf(index)];
}

test("maps units to their source", () => {
  const map = mapOf(3);
  const spans = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((index) => spanOf(map, index));
  expect(spans).toEqual([
    [0, 1],
    [1, 2],
    [2, 5],
    [5, 6],
    [6, 7],
    [7, 10],
    [10, 11],
    [11, 12],
    [12, 15],
    [15, 16],
  ]);
});

test("the order of queries does not matter", () => {
  fc.assert(
    fc.property(fc.nat(40), fc.array(fc.nat(150), { maxLength: 30 }), (entries, queries) => {
      const map = mapOf(entries);
      for (const index of queries) expect(spanOf(map, index)).toEqual(spanOf(mapOf(entries), index));
    }),
  );
});

test("a cleared map forgets the last query", () => {
  const map = mapOf(30);
  spanOf(map, 80);
  map.clear();
  expect(spanOf(map, 80)).toEqual([80, 81]);
  map.add(2, 2, 5);
  expect(spanOf(map, 1)).toEqual([1, 2]);
});
