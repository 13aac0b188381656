// The sharded map against a plain Map: same contents after any changes, and old copies that never change.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { newId } from "../base/ids.ts";
import { ShardedMap } from "./sharded-map.ts";

// Few keys, so that they are set, overwritten and removed again; some share their last eight characters, and a shard.
const key = fc.oneof(
  fc.constantFrom(
    "",
    "a",
    "b",
    "same-end-12345678",
    "other-same-end-12345678",
    "__proto__",
    "constructor",
    "🜁",
  ),
  fc.string({ maxLength: 12 }),
);
const change = fc.tuple(key, fc.option(fc.nat(), { nil: null, freq: 3 }));
const batches = fc.array(fc.array(change, { maxLength: 20 }), { maxLength: 12 });

function apply(map: ReadonlyMap<string, number>, batch: readonly (readonly [string, number | null])[]) {
  const next = new Map(map);
  for (const [name, value] of batch) {
    if (value === null) next.delete(name);
    else next.set(name, value);
  }
  return next;
}

function expectSame(map: ShardedMap<number>, oracle: ReadonlyMap<string, number>): void {
  expect(map.size).toBe(oracle.size);
  for (const [name, value] of oracle) expect(map.get(name)).toBe(value);
  expect([...map.values()].sort((a, b) => a - b)).toEqual([...oracle.values()].sort((a, b) => a - b));
}

describe("ShardedMap", () => {
  test("holds what a plain Map would, and every earlier copy still holds what it did", () => {
    fc.assert(
      fc.property(batches, key, (changes, stranger) => {
        const history: [ShardedMap<number>, ReadonlyMap<string, number>][] = [
          [ShardedMap.empty<number>(), new Map()],
        ];
        for (const batch of changes) {
          const [map, oracle] = history.at(-1)!;
          history.push([map.with(batch), apply(oracle, batch)]);
        }
        for (const [map, oracle] of history) {
          expectSame(map, oracle);
          expect(map.get(stranger)).toBe(oracle.get(stranger));
        }
      }),
      { numRuns: 300 },
    );
  });

  test("two copies of one map go their own ways", () => {
    const base = ShardedMap.empty<number>().with([["shared", 1]]);
    const left = base.with([["shared", 2]]);
    const right = base.with([["shared", null]]);
    expect([base.get("shared"), left.get("shared"), right.get("shared")]).toEqual([1, 2, undefined]);
    expect([base.size, left.size, right.size]).toEqual([1, 1, 0]);
  });

  test("changing nothing gives the same map", () => {
    const map = ShardedMap.empty<number>().with([["a", 1]]);
    expect(map.with([])).toBe(map);
  });

  test("spreads ten thousand ids over its shards, so that a change copies a small part", () => {
    const entries = Array.from({ length: 10_000 }, (_, index) => [newId(), index] as const);
    const map = ShardedMap.empty<number>().with(entries);
    expect(map.size).toBe(10_000);
    for (const [id, value] of entries) expect(map.get(id)).toBe(value);
    // Values come shard by shard. Were the ids made one after another in few shards, they would come in order.
    const values = [...map.values()];
    const ascents = values.filter((value, index) => index > 0 && value > values[index - 1]!).length;
    expect(10_000 - 1 - ascents).toBeGreaterThan(200);
  });
});
