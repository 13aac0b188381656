// The ring of the request log against a naive implementation of the same rule.
import { expect, test } from "bun:test";
import { FairRing } from "./fair-ring.ts";

/** The same rule without any index: every step scans all items. */
class NaiveRing {
  readonly #size: number;
  #items: { group: string | null; value: number }[] = [];
  /** When each group last reached the number of items that it holds. */
  readonly #changedAt = new Map<string | null, number>();
  #steps = 0;

  constructor(size: number) {
    this.#size = size;
  }

  add(group: string | null, value: number): number | undefined {
    this.#items.push({ group, value });
    this.#changedAt.set(group, this.#steps++);
    if (this.#items.length <= this.#size) return undefined;
    const groups = [...new Set(this.#items.map((item) => item.group))];
    const most = Math.max(...groups.map((each) => this.of(each).length));
    const [largest = null] = groups
      .filter((each) => this.of(each).length === most)
      .sort((a, b) => (this.#changedAt.get(a) ?? 0) - (this.#changedAt.get(b) ?? 0));
    const oldest = this.#items.findIndex((item) => item.group === largest);
    const [removed] = this.#items.splice(oldest, 1);
    this.#changedAt.set(largest, this.#steps++);
    return removed?.value;
  }

  of(group: string | null): number[] {
    return this.#items.filter((item) => item.group === group).map((item) => item.value);
  }
}

function newestFirst(ring: FairRing<number>, group: string | null): number[] {
  return [...ring.newestFirst(group)];
}

test("a busy group does not push out the items of a quiet group", () => {
  const ring = new FairRing<number>(10);
  for (const value of [1, 2, 3]) ring.add("quiet", value);
  for (let value = 0; value < 1000; value++) ring.add("busy", value);
  expect(newestFirst(ring, "quiet")).toEqual([3, 2, 1]);
  expect(newestFirst(ring, "busy")).toEqual([999, 998, 997, 996, 995, 994, 993]);
});

test("items without a group share one place in the order", () => {
  const ring = new FairRing<number>(4);
  for (const value of [1, 2]) ring.add("one", value);
  for (let value = 0; value < 100; value++) ring.add(null, value);
  expect(newestFirst(ring, "one")).toEqual([2, 1]);
  expect(newestFirst(ring, null)).toEqual([99, 98]);
});

test("agrees with a naive implementation for random sizes, groups and orders", () => {
  for (let round = 0; round < 60; round++) {
    const size = 1 + Math.floor(Math.random() * 12);
    const groups = [null, ...["a", "b", "c", "d", "e", "f", "g"].slice(0, 1 + Math.floor(Math.random() * 7))];
    const bias = 1 + Math.random() * 3;
    const ring = new FairRing<number>(size);
    const naive = new NaiveRing(size);
    const history: (string | null)[] = [];
    for (let value = 0; value < 200; value++) {
      const group = groups[Math.floor(Math.random() ** bias * groups.length)] ?? null;
      history.push(group);
      expect(ring.add(group, value)).toBe(naive.add(group, value));
      for (const each of groups) {
        const expected = naive.of(each).reverse();
        if (!Bun.deepEquals(newestFirst(ring, each), expected))
          expect({ size, history, group: each, items: newestFirst(ring, each) }).toEqual({
            size,
            history,
            group: each,
            items: expected,
          });
      }
    }
  }
});
