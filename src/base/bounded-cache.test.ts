// The bounded cache against an exact least-recently-used map.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { BoundedCache } from "./bounded-cache.ts";

/** The oracle: keeps exactly the `capacity` most recently used entries. */
class ExactLru {
  readonly #capacity: number;
  readonly entries = new Map<number, number>();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  use(key: number, value: number): void {
    this.entries.delete(key);
    this.entries.set(key, value);
    const [oldest] = this.entries.keys();
    if (this.entries.size > this.#capacity && oldest !== undefined) this.entries.delete(oldest);
  }
}

const operations = fc.array(fc.tuple(fc.constantFrom("get", "set", "set", "delete"), fc.nat({ max: 12 })), {
  maxLength: 200,
});

test("property: keeps what an exact LRU map keeps, at most twice the capacity, and the last value", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 6 }), operations, (capacity, list) => {
      const cache = new BoundedCache<number, number>(capacity);
      const oracle = new ExactLru(capacity);
      const lastValues = new Map<number, number>();
      for (const [serial, [operation, key]] of list.entries()) {
        if (operation === "set") {
          cache.set(key, serial);
          oracle.use(key, serial);
          lastValues.set(key, serial);
        } else if (operation === "delete") {
          cache.delete(key);
          oracle.entries.delete(key);
          lastValues.delete(key);
        } else {
          const value = cache.get(key);
          if (oracle.entries.has(key)) expect(value).toBe(oracle.entries.get(key));
          if (value !== undefined) {
            expect(value).toBe(lastValues.get(key)!);
            oracle.use(key, value);
          }
        }
        const values = [...cache.values()];
        expect(values.length).toBeLessThanOrEqual(2 * capacity);
        expect(values).toEqual(expect.arrayContaining([...oracle.entries.values()]));
      }
    }),
    { numRuns: 500 },
  );
});

test("property: onEvict is called once for each value that is neither kept, replaced, nor deleted", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 6 }), operations, (capacity, list) => {
      const evicted: number[] = [];
      const cache = new BoundedCache<number, number>(capacity, (value) => evicted.push(value));
      const expected = new Set<number>();
      for (const [serial, [operation, key]] of list.entries()) {
        const known = cache.get(key);
        if (operation !== "get" && known !== undefined) expected.delete(known);
        if (operation === "delete") cache.delete(key);
        if (operation !== "set") continue;
        cache.set(key, serial);
        expected.add(serial);
      }
      expect([...evicted, ...cache.values()].sort((a, b) => a - b)).toEqual(
        [...expected].sort((a, b) => a - b),
      );
    }),
    { numRuns: 500 },
  );
});

test("null is a value; clear removes everything without evicting", () => {
  const evicted: unknown[] = [];
  const cache = new BoundedCache<string, null>(1, (value) => evicted.push(value));
  cache.set("a", null);
  cache.set("b", null);
  expect([cache.get("a"), cache.get("b"), cache.get("c")]).toEqual([null, null, undefined]);
  cache.clear();
  expect([...cache.values(), ...evicted]).toEqual([]);
});
