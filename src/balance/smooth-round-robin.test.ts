// Smooth weighted round robin against the integer algorithm.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { contendersOf } from "./contenders.fixture.ts";
import { pickRoundRobin } from "./smooth-round-robin.ts";

const weightsArb = fc.array(fc.integer({ min: 1, max: 1000 }), { minLength: 1, maxLength: 12 });

function countPicks(weights: readonly number[], picks: number): number[] {
  const contenders = contendersOf(weights);
  const counts = weights.map(() => 0);
  for (let n = 0; n < picks; n++) counts[pickRoundRobin(contenders)]!++;
  return counts;
}

describe("smooth round robin", () => {
  test("distributes 100,000 requests evenly between two targets, and 3:1 by weight", () => {
    const [even] = countPicks([1, 1], 100_000);
    expect(Math.abs(even! - 50_000)).toBeLessThanOrEqual(1);
    const [three] = countPicks([3, 1], 100_000);
    expect(Math.abs(three! - 75_000)).toBeLessThanOrEqual(1);
  });

  test("alternates strictly for equal weights, with any number of targets and requests", () => {
    for (const size of [2, 3, 7, 70]) {
      const contenders = contendersOf(Array.from({ length: size }, () => 5));
      for (let n = 0; n < 70_000; n++) expect(pickRoundRobin(contenders)).toBe(n % size);
    }
  });

  test("does not pick a target with a large weight many times in a row", () => {
    // The published sequence of smooth weighted round robin for 5:1:1.
    const contenders = contendersOf([5, 1, 1]);
    const sequence = Array.from({ length: 7 }, () => pickRoundRobin(contenders));
    expect(sequence).toEqual([0, 0, 1, 0, 2, 0, 0]);
  });

  test("property: picks as the integer algorithm does", () => {
    fc.assert(
      fc.property(weightsArb, (weights) => {
        const contenders = contendersOf(weights);
        const total = weights.reduce((sum, weight) => sum + weight, 0);
        const current = weights.map(() => 0);
        for (let n = 0; n < 500; n++) {
          for (let i = 0; i < weights.length; i++) current[i]! += weights[i]!;
          const expected = current.indexOf(Math.max(...current));
          current[expected]! -= total;
          expect(pickRoundRobin(contenders)).toBe(expected);
        }
      }),
    );
  });

  test("property: every prefix is close to the ideal share", () => {
    fc.assert(
      fc.property(weightsArb, (weights) => {
        const contenders = contendersOf(weights);
        const total = weights.reduce((sum, weight) => sum + weight, 0);
        const counts = weights.map(() => 0);
        for (let n = 1; n <= 1000; n++) {
          counts[pickRoundRobin(contenders)]!++;
          for (const [i, count] of counts.entries()) {
            expect(Math.abs(count - (n * weights[i]!) / total)).toBeLessThan(weights.length);
          }
        }
      }),
      { numRuns: 50 },
    );
  });

  test("property: credits stay small while the set of eligible targets changes", () => {
    const subsetsArb = fc.array(fc.uniqueArray(fc.nat(5), { minLength: 1 }), { minLength: 1 });
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 6, maxLength: 6 }),
        subsetsArb,
        (weights, subsets) => {
          const all = contendersOf(weights);
          for (let n = 0; n < 1000; n++) {
            const eligible = subsets[n % subsets.length]!.map((i) => all[i]!);
            pickRoundRobin(eligible);
            for (const { state } of all) expect(Math.abs(state.credit)).toBeLessThan(6);
          }
        },
      ),
      { numRuns: 50 },
    );
  });
});
