import { expect, test } from "bun:test";
import { idealTail } from "./ideal-server.ts";

test("no request of a single connection waits", () => {
  expect(idealTail({ capacity: 10_000, requestsPerSecond: 500, connections: 1 })).toBeCloseTo(1, 6);
});

test("requests of one millisecond wait for each other, also in an idle server", () => {
  // Requests per millisecond have a Poisson distribution with a mean of 1: the last of three takes three times as long as the first.
  const tail = idealTail({ capacity: 1_000_000, requestsPerSecond: 1000, connections: 1000 });
  expect(tail).toBeGreaterThanOrEqual(3);
  expect(tail).toBeLessThan(5);
});

test("at 70 % of the capacity, the tail is between 2.4 and 3", () => {
  // Simulated by events instead of milliseconds: 2.4, 2.75 and 2.9.
  for (const [capacity, tail] of [
    [45_000, 2.44],
    [22_000, 2.75],
    [12_500, 2.9],
  ] as const)
    expect(idealTail({ capacity, requestsPerSecond: capacity * 0.7, connections: 256 })).toBeCloseTo(tail, 0);
});
