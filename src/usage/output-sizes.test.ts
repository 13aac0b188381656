import { expect, test } from "bun:test";
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
