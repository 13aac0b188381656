// The slope of lines, of noise and of next to nothing.
import { expect, test } from "bun:test";
import { slopeOf } from "./slope.ts";

test("a line has its own slope, whatever is added to all of it", () => {
  for (const [slope, start] of [
    [2, 0],
    [-0.5, 100],
    [0, 7],
  ] as const) {
    const points = Array.from({ length: 10 }, (_, x) => ({ x, y: start + slope * x }));
    expect(slopeOf(points)).toBeCloseTo(slope);
  }
});

test("what swings around a line does not change it much", () => {
  const points = Array.from({ length: 1000 }, (_, x) => ({ x, y: 3 * x + (x % 2 === 0 ? 50 : -50) }));
  expect(slopeOf(points)).toBeCloseTo(3, 2);
});

test("no points, one point, one moment: no slope", () => {
  expect(slopeOf([])).toBe(0);
  expect(slopeOf([{ x: 1, y: 5 }])).toBe(0);
  expect(
    slopeOf([
      { x: 1, y: 5 },
      { x: 1, y: 9 },
    ]),
  ).toBe(0);
});
