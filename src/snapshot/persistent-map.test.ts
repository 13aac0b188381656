// PersistentMap against a plain Map: same contents after any changes, and earlier copies that never change.
import { describe, expect, test } from "bun:test";
import { heapStats } from "bun:jsc";
import fc from "fast-check";
import { newId } from "../base/ids.ts";
import { PersistentMap } from "./persistent-map.ts";

function heapAfterCollection(): number {
  Bun.gc(true);
  return heapStats().heapSize;
}

// Few keys, so that they are set, overwritten and removed again. The pairs have the same 32-bit hash, or hashes that
// differ only in their highest bits, and so lead to lists of entries and to branches at every level.
const key = fc.oneof(
  fc.constantFrom("key-68942", "key-119729", "key-13793", "key-146183"),
  fc.constantFrom("key-2300", "key-309079", "key-3102", "key-160211"),
  fc.constantFrom("", "a", "b", "__proto__", "constructor", "🜁"),
  fc.nat({ max: 200 }).map(String),
  fc.string({ maxLength: 12 }),
);
const change = fc.tuple(key, fc.option(fc.nat(), { nil: null, freq: 3 }));
const batches = fc.array(fc.array(change, { maxLength: 40 }), { maxLength: 12 });

function apply(map: ReadonlyMap<string, number>, batch: readonly (readonly [string, number | null])[]) {
  const next = new Map(map);
  for (const [name, value] of batch) {
    if (value === null) next.delete(name);
    else next.set(name, value);
  }
  return next;
}

function expectSame(map: PersistentMap<number>, oracle: ReadonlyMap<string, number>): void {
  expect(map.size).toBe(oracle.size);
  for (const [name, value] of oracle) expect(map.get(name)).toBe(value);
  expect([...map.values()].sort((a, b) => a - b)).toEqual([...oracle.values()].sort((a, b) => a - b));
}

describe("PersistentMap", () => {
  test("holds what a plain Map holds, and every earlier copy keeps its contents", () => {
    fc.assert(
      fc.property(batches, key, (changes, unknownKey) => {
        const history: [PersistentMap<number>, ReadonlyMap<string, number>][] = [
          [PersistentMap.empty<number>(), new Map()],
        ];
        for (const batch of changes) {
          const [map, oracle] = history.at(-1)!;
          history.push([map.with(batch), apply(oracle, batch)]);
        }
        for (const [map, oracle] of history) {
          expectSame(map, oracle);
          expect(map.get(unknownKey)).toBe(oracle.get(unknownKey));
        }
      }),
      { numRuns: 500 },
    );
  });

  test("two copies of one map are independent", () => {
    const base = PersistentMap.empty<number>().with([["shared", 1]]);
    const left = base.with([["shared", 2]]);
    const right = base.with([["shared", null]]);
    expect([base.get("shared"), left.get("shared"), right.get("shared")]).toEqual([1, 2, undefined]);
    expect([base.size, left.size, right.size]).toEqual([1, 1, 0]);
  });

  test("returns the same map if nothing changes", () => {
    const map = PersistentMap.empty<number>().with([
      ["a", 1],
      ["b", 2],
    ]);
    expect(map.with([])).toBe(map);
    expect(map.with([["unknown", null]])).toBe(map);
  });

  test("keys with the same hash are set, replaced and removed one by one", () => {
    let map = PersistentMap.empty<number>().with([
      ["key-68942", 1],
      ["key-119729", 2],
      ["other", 3],
    ]);
    map = map.with([["key-68942", 4]]);
    expect([map.size, map.get("key-68942"), map.get("key-119729")]).toEqual([3, 4, 2]);
    map = map.with([["key-119729", null]]);
    expect([map.size, map.get("key-68942"), map.get("key-119729")]).toEqual([2, 4, undefined]);
  });

  test.each([
    ["ids", () => newId()],
    ["paths that differ only in the middle", (index: number) => `=/v1/teams/${index}/chat/completions`],
  ])("a changed copy of 30,000 %s shares nearly all of its parts", (_, keyOf) => {
    const entries = Array.from({ length: 30_000 }, (_unused, index) => [keyOf(index), index] as const);
    const map = PersistentMap.empty<number>().with(entries);
    expect(map.size).toBe(30_000);
    for (const [name, value] of entries) expect(map.get(name)).toBe(value);
    const heapBefore = heapAfterCollection();
    const copies = entries.slice(0, 1000).map(([name]) => map.with([[name, -1]]));
    // Copies that share nothing would use more than 200 MB.
    expect(heapAfterCollection() - heapBefore).toBeLessThan(50 << 20);
    expect(map.get(entries[0]![0])).toBe(0);
    expect(copies[0]!.get(entries[0]![0])).toBe(-1);
  });
});
