import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { contendersOf } from "./contenders.fixture.ts";
import { pickLeastBusy } from "./least-connections.ts";

describe("least connections", () => {
  test("picks one of those with the fewest in flight per weight, as a naive search does", () => {
    const targetArb = fc.record({ weight: fc.integer({ min: 1, max: 9 }), inFlight: fc.nat(9) });
    fc.assert(
      fc.property(fc.array(targetArb, { minLength: 1, maxLength: 10 }), (targets) => {
        const contenders = contendersOf(targets.map(({ weight }) => weight));
        for (const [i, { inFlight }] of targets.entries()) contenders[i]!.state.inFlight = inFlight;
        const load = targets.map(({ weight, inFlight }) => inFlight / weight);
        const picked = pickLeastBusy(contenders, contenders.length);
        expect(load[picked]).toBe(Math.min(...load));
      }),
    );
  });

  test("takes turns where the load is level", () => {
    const counts = [0, 0, 0];
    const all = contendersOf([1, 1, 1]);
    for (let n = 0; n < 30_000; n++) counts[pickLeastBusy([...all], 3)]!++;
    expect(counts).toEqual([10_000, 10_000, 10_000]);
  });

  test("fills 3:1 by weight when nothing ends", () => {
    const all = contendersOf([3, 1]);
    for (let n = 0; n < 4000; n++) all[pickLeastBusy([...all], 2)]!.state.inFlight++;
    expect(all.map(({ state }) => state.inFlight)).toEqual([3000, 1000]);
  });

  test("avoids a target whose requests do not end", () => {
    const all = contendersOf([1, 1]);
    all[0]!.state.inFlight = 5;
    for (let n = 0; n < 100; n++) expect(pickLeastBusy([...all], 2)).toBe(1);
  });
});
