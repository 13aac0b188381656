// Weighted random choice: proportional to the weights.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { contendersOf, seededRandom } from "./contenders.fixture.ts";
import { pickRandom } from "./weighted-random.ts";

describe("weighted random", () => {
  test("distributes by weight within five standard deviations", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 2, maxLength: 6 }),
        fc.integer(),
        (weights, seed) => {
          const contenders = contendersOf(weights);
          const random = seededRandom(seed);
          const counts = weights.map(() => 0);
          const picks = 20_000;
          for (let n = 0; n < picks; n++) counts[pickRandom(contenders, random)]!++;
          const total = weights.reduce((sum, weight) => sum + weight, 0);
          for (const [i, count] of counts.entries()) {
            const share = weights[i]! / total;
            const deviation = Math.sqrt(picks * share * (1 - share));
            expect(Math.abs(count - picks * share)).toBeLessThan(5 * deviation);
          }
        },
      ),
      { numRuns: 40, seed: 6 },
    );
  });

  test("maps the whole range of the random source", () => {
    const contenders = contendersOf([3, 1]);
    const pickAt = (drawn: number) => pickRandom(contenders, () => drawn);
    expect([pickAt(0), pickAt(0.749), pickAt(0.75), pickAt(1 - Number.EPSILON)]).toEqual([0, 0, 1, 1]);
  });
});
