// The difference between the clocks is stable while both run, and follows a wall clock that is corrected.
import { expect, test } from "bun:test";
import { systemClock } from "../base/clock.ts";
import { WallOffset } from "./wall-offset.ts";

test("a moment keeps its wall time, and a corrected clock is noticed", () => {
  let [now, unixMs] = [1000.7, 50_000];
  const offset = new WallOffset({ ...systemClock, now: () => now, unixNow: () => unixMs });
  const first = offset.at(now);
  expect(first).toBe(unixMs - now);
  for (let step = 0; step < 100; step++) {
    now += 7.3;
    unixMs = 50_000 + Math.floor(now - 1000.7);
    expect(offset.at(now)).toBe(first);
  }
  unixMs += 5000;
  now += 20;
  expect(offset.at(now)).toBe(unixMs - now);
});
