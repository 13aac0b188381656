// Reset times of the counters in memory. The contract suite covers what they count.
import { expect, test } from "bun:test";
import { MemoryCounters } from "./memory-counters.ts";

test("one moment is always the same second, whatever the milliseconds of the two clocks", () => {
  let monotonic = 0;
  // The wall clock is truncated to milliseconds; the window ends exactly on a second.
  const clock = { now: () => monotonic, unixNow: () => Math.floor(1_000_000 + monotonic + 0.5) };
  const counters = new MemoryCounters({ clock });
  const limits = [{ key: "k", limit: 1000, windowMs: 10_000 }];
  const resets = new Set<number | undefined>();
  for (; monotonic < 100; monotonic += 0.3) resets.add(counters.admit(limits).states[0]?.resetAt);
  expect(resets.size).toBe(1);
});
