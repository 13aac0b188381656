// Tests of the table of digests against a map: what it returns was set, and what was set last is there.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { DigestTable, MAX_VALUE } from "./digest-table.ts";

/** Few different ones per word, so that digests share sets and all words but one. */
const digest = fc.array(fc.constantFrom(0, 1, -1, 7, 1024), { minLength: 4, maxLength: 4 });
const step = fc.oneof(
  fc.record({ digest, value: fc.constantFrom(0, 1, 2, MAX_VALUE) }),
  fc.record({ capacity: fc.constantFrom(8, 16, 64, 1024) }),
);

test("returns what was set last for a digest, or nothing", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const table = new DigestTable(8);
      const expected = new Map<string, number>();
      for (const each of steps) {
        if ("capacity" in each) {
          table.resize(each.capacity);
          expect(table.capacity).toBe(each.capacity);
          continue;
        }
        const words = Int32Array.from(each.digest);
        expect([-1, expected.get(String(words)) ?? -1]).toContain(table.get(words));
        table.set(words, each.value);
        expected.set(String(words), each.value);
        expect(table.get(words)).toBe(each.value);
      }
      for (const [words, value] of expected)
        expect([-1, value]).toContain(table.get(Int32Array.from(words.split(","), Number)));
    }),
    { numRuns: 500 },
  );
});

/** The entries of one set, the most recently used first. */
class NaiveSet {
  readonly entries: [digest: string, value: number][] = [];

  get(digest: readonly number[]): number {
    const at = this.entries.findIndex(([each]) => each === String(digest));
    if (at < 0) return -1;
    const [found] = this.entries.splice(at, 1);
    this.entries.unshift(found!);
    return found![1];
  }

  set(digest: readonly number[], value: number): void {
    if (this.get(digest) >= 0) this.entries.shift();
    else if (this.entries.length === 8) this.entries.splice(7 - (digest[1]! & 3), 1);
    this.entries.unshift([String(digest), value]);
  }
}

test("keeps the most recently used digests of a set", () => {
  const digests = Array.from({ length: 14 }, (_, index) => [index % 3, (index * 7) % 5, index, -1]);
  const use = fc.record({ index: fc.nat(13), value: fc.option(fc.nat(MAX_VALUE), { nil: null }) });
  fc.assert(
    fc.property(fc.array(use, { maxLength: 200, size: "max" }), (uses) => {
      const table = new DigestTable(8);
      const expected = new NaiveSet();
      for (const { index, value } of uses) {
        const digest = digests[index]!;
        if (value === null) expect(table.get(Int32Array.from(digest))).toBe(expected.get(digest));
        else {
          table.set(Int32Array.from(digest), value);
          expected.set(digest, value);
        }
      }
      for (const digest of digests) expect(table.get(Int32Array.from(digest))).toBe(expected.get(digest));
    }),
    { numRuns: 300 },
  );
});

const digestsFor = (count: number) =>
  Array.from({ length: count }, (_, index) => Int32Array.of(index * 8, index, 0, index));

test("a full set drops one digest, and none of those that were used last", () => {
  for (let added = 0; added < 4; added++) {
    const table = new DigestTable(8);
    const digests = digestsFor(8);
    for (const each of digests) table.set(each, 1);
    const used = digests.slice(0, 3);
    for (const each of used) expect(table.get(each)).toBe(1);
    table.set(Int32Array.of(800, added, 0, 0), 5);
    expect(table.get(Int32Array.of(800, added, 0, 0))).toBe(5);
    expect(digests.filter((each) => table.get(each) === 1)).toHaveLength(7);
    for (const each of used) expect(table.get(each)).toBe(1);
  }
});

test("texts in turn, one more than a set holds, are not all dropped", () => {
  const table = new DigestTable(8);
  const digests = Array.from({ length: 9 }, (_, index) => Int32Array.of(0, index * 7, 0, index));
  let known = 0;
  for (let turn = 0; turn < 100; turn++)
    for (const each of digests) {
      if (table.get(each) === 1) known++;
      else table.set(each, 1);
    }
  expect(known).toBeGreaterThan(450);
});

test("a larger table keeps all entries, a smaller one as many as it has space for", () => {
  const table = new DigestTable(64);
  const digests = Array.from({ length: 40 }, (_, index) => Int32Array.of(index, 0, 0, index));
  for (const each of digests) table.set(each, 1);
  table.resize(256);
  expect(digests.filter((each) => table.get(each) === 1)).toHaveLength(40);
  table.resize(8);
  expect(digests.filter((each) => table.get(each) === 1)).toHaveLength(8);
});
