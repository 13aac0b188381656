// The slope of lines, of noisy lines, and of too few points.
import { expect, test } from "bun:test";
import { slopeOf } from "./slope.ts";

test("is the slope of a line, whatever its offset is", () => {
  for (const [slope, start] of [
    [2, 0],
    [-0.5, 100],
    [0, 7],
  ] as const) {
    const points = Array.from({ length: 10 }, (_, x) => ({ x, y: start + slope * x }));
    expect(slopeOf(points)).toBeCloseTo(slope);
  }
});

test("is hardly affected by noise", () => {
  const points = Array.from({ length: 1000 }, (_, x) => ({ x, y: 3 * x + (x % 2 === 0 ? 50 : -50) }));
  expect(slopeOf(points)).toBeCloseTo(3, 2);
});

test("is 0 for no points, one point, and points with the same x", () => {
  expect(slopeOf([])).toBe(0);
  expect(slopeOf([{ x: 1, y: 5 }])).toBe(0);
  expect(
    slopeOf([
      { x: 1, y: 5 },
      { x: 1, y: 9 },
    ]),
  ).toBe(0);
});
