import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { isInShare } from "./share-hash.ts";

/** Most numbers of `fc.double` would be next to 0. */
const shares = fc.integer({ min: 0, max: 100_000 }).map((number) => number / 100_000);

/** Finds the smallest share that contains a subject, by trial. */
function entryOf(subject: string, purpose: string): number {
  let [low, high] = [0, 1];
  for (let step = 0; step < 60; step++) {
    const middle = (low + high) / 2;
    if (isInShare(subject, purpose, middle)) high = middle;
    else low = middle;
  }
  return high;
}

describe("isInShare", () => {
  test("a subject enters at one share and never leaves a larger one", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.array(shares, { maxLength: 30 }), (subject, purpose, list) => {
        const entry = entryOf(subject, purpose);
        for (const share of list) expect(isInShare(subject, purpose, share)).toBe(share >= entry);
      }),
    );
  });

  test("raising a share from 5 to 10 % keeps every subject, and adds about as many", () => {
    const subjects = Array.from({ length: 20_000 }, (_, index) => `key/user-${index}`);
    const before = subjects.filter((subject) => isInShare(subject, "model", 0.05));
    const after = new Set(subjects.filter((subject) => isInShare(subject, "model", 0.1)));
    expect(before.filter((subject) => !after.has(subject))).toEqual([]);
    expect(Math.abs(before.length / subjects.length - 0.05)).toBeLessThan(0.006);
    expect(Math.abs(after.size / subjects.length - 0.1)).toBeLessThan(0.008);
  });

  test("a share of 0 contains no subject, and a share of 1 all", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (subject, purpose) => {
        expect(isInShare(subject, purpose, 0)).toBe(false);
        expect(isInShare(subject, purpose, 1)).toBe(true);
      }),
    );
  });

  test("different purposes choose different subjects", () => {
    const subjects = Array.from({ length: 20_000 }, (_, index) => `user-${index}`);
    const both = subjects.filter((each) => isInShare(each, "a", 0.1) && isInShare(each, "b", 0.1));
    expect(Math.abs(both.length / subjects.length - 0.01)).toBeLessThan(0.005);
  });
});
