import { expect, test } from "bun:test";
import fc from "fast-check";
import { OutputSizes } from "./output-sizes.ts";

test("the 95th percentile of the last 100 responses, per gateway and model", () => {
  const sizes = new OutputSizes();
  expect(sizes.percentile("g", "m")).toBeNull();
  sizes.add("g", "m", 7);
  expect(sizes.percentile("g", "m")).toBe(7);
  for (let tokens = 1; tokens <= 100; tokens++) sizes.add("g", "m", tokens);
  expect(sizes.percentile("g", "m")).toBe(95);
  for (let count = 0; count < 100; count++) sizes.add("g", "m", 3);
  expect(sizes.percentile("g", "m")).toBe(3);
  expect(sizes.percentile("other", "m")).toBeNull();
});

test("any sizes have the percentile of the sorted last 100", () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 50 }), { minLength: 1, maxLength: 250 }), (added) => {
      const sizes = new OutputSizes();
      for (const [index, tokens] of added.entries()) {
        sizes.add("g", "m", tokens);
        const last = added.slice(Math.max(0, index - 99), index + 1).sort((a, b) => a - b);
        expect(sizes.percentile("g", "m")).toBe(last[Math.ceil(last.length * 0.95) - 1] ?? -1);
      }
    }),
    { numRuns: 50 },
  );
});
