// Least connections against a naive search.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { contendersOf } from "./contenders.fixture.ts";
import { pickLeastConnections } from "./least-connections.ts";

describe("least connections", () => {
  test("picks a target with the fewest requests in flight per weight, as a naive search does", () => {
    const targetArb = fc.record({ weight: fc.integer({ min: 1, max: 9 }), inFlight: fc.nat(9) });
    fc.assert(
      fc.property(fc.array(targetArb, { minLength: 1, maxLength: 10 }), (targets) => {
        const contenders = contendersOf(targets.map(({ weight }) => weight));
        for (const [i, { inFlight }] of targets.entries()) contenders[i]!.state.inFlight = inFlight;
        const load = targets.map(({ weight, inFlight }) => inFlight / weight);
        const picked = pickLeastConnections(contenders);
        expect(load[picked]).toBe(Math.min(...load));
      }),
    );
  });

  test("resolves ties by round robin", () => {
    const counts = [0, 0, 0];
    const all = contendersOf([1, 1, 1]);
    for (let n = 0; n < 30_000; n++) counts[pickLeastConnections([...all])]!++;
    expect(counts).toEqual([10_000, 10_000, 10_000]);
  });

  test("distributes 3:1 by weight while no request ends", () => {
    const all = contendersOf([3, 1]);
    for (let n = 0; n < 4000; n++) all[pickLeastConnections([...all])]!.state.inFlight++;
    expect(all.map(({ state }) => state.inFlight)).toEqual([3000, 1000]);
  });

  test("avoids a target whose requests do not end", () => {
    const all = contendersOf([1, 1]);
    all[0]!.state.inFlight = 5;
    for (let n = 0; n < 100; n++) expect(pickLeastConnections([...all])).toBe(1);
  });
});
