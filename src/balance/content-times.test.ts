// The moving percentile against the exact percentile of the same times.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { ContentTimes } from "./content-times.ts";

const GENERATION = 256;
const timeArb = fc.oneof(
  fc.double({ min: 0, max: 5000, noNaN: true }),
  fc.nat(300),
  fc.constantFrom(0, 0.4, 1, 300, 5000, 86_400_000),
);

/** The times that count: those of the current generation and of the one before. */
function countedOf(times: readonly number[]): number[] {
  if (times.length === 0) return [];
  const started = Math.floor((times.length - 1) / GENERATION) * GENERATION;
  return times.slice(Math.max(0, started - GENERATION));
}

function recorded(times: readonly number[]): ContentTimes {
  const all = new ContentTimes();
  for (const time of times) all.record(time);
  return all;
}

test("property: the percentile is at most 5 % and 1 ms above the exact one, and never below it", () => {
  fc.assert(
    fc.property(fc.array(timeArb, { maxLength: 900 }), (times) => {
      const counted = countedOf(times).sort((a, b) => a - b);
      const p95 = recorded(times).p95();
      if (counted.length < 20) {
        expect(p95).toBeNull();
        return;
      }
      const exact = Math.max(1, counted[Math.ceil(counted.length * 0.95) - 1] ?? 0);
      expect(p95).toBeGreaterThanOrEqual(Math.min(exact, 86_400_000) * (1 - 1e-9));
      expect(p95).toBeLessThanOrEqual(exact * 1.05 + 1);
    }),
    { numRuns: 60 },
  );
});

test("times of any size are recorded", () => {
  const all = recorded(Array.from({ length: 20 }, () => 1e12));
  expect(all.p95()).toBeGreaterThan(86_400_000);
  expect(recorded(Array.from({ length: 20 }, () => -5)).p95()).toBe(2);
});

test("a copy has the same times, and neither changes the other one", () => {
  const original = recorded(Array.from({ length: 300 }, (_, at) => at));
  const copy = original.copy();
  expect(copy.p95()).toBe(original.p95());
  const before = original.p95();
  for (let count = 0; count < 600; count++) copy.record(50_000);
  expect(original.p95()).toBe(before);
  for (let count = 0; count < 600; count++) original.record(1);
  expect(copy.p95()).toBeGreaterThan(50_000);
});
