// The moving average decays by time, and failures increase it.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { LatencyAverage } from "./latency-average.ts";

describe("latency average", () => {
  test("is the first measurement, then stays between the lowest and the highest", () => {
    const sampleArb = fc.record({ gap: fc.nat(30_000), ms: fc.integer({ min: 0, max: 5000 }) });
    fc.assert(
      fc.property(fc.array(sampleArb, { minLength: 1 }), (samples) => {
        const average = new LatencyAverage();
        expect(average.averageMs).toBe(Infinity);
        let now = 0;
        for (const { gap, ms } of samples) average.recordFirstByte(ms, (now += gap));
        const all = samples.map(({ ms }) => ms);
        expect(average.averageMs).toBeGreaterThanOrEqual(Math.min(...all) - 1e-6);
        expect(average.averageMs).toBeLessThanOrEqual(Math.max(...all) + 1e-6);
        if (all.length === 1) expect(average.averageMs).toBe(all[0]!);
      }),
    );
  });

  test("decays by time, not by the number of measurements", () => {
    const steps = (each: number) => {
      const average = new LatencyAverage();
      average.recordFirstByte(1000, 0);
      for (let now = each; now <= 10_000; now += each) average.recordFirstByte(0, now);
      return average.averageMs;
    };
    expect(steps(10)).toBeCloseTo(steps(1000), 6);
    expect(steps(10)).toBeCloseTo(1000 / Math.E, 6);
  });

  test("doubles on failure up to a limit, and not before the first measurement", () => {
    const average = new LatencyAverage();
    average.recordFailure();
    expect(average.averageMs).toBe(Infinity);
    average.recordFirstByte(0, 0);
    average.recordFailure();
    expect(average.averageMs).toBe(2);
    for (let n = 0; n < 100; n++) average.recordFailure();
    expect(average.averageMs).toBe(600_000);
    average.reset();
    expect([average.averageMs, average.lastStartAt]).toEqual([Infinity, -Infinity]);
  });
});
