// When a game day stops by itself.
import { expect, test } from "bun:test";
import { AbortWatch } from "./abort-watch.ts";

const ok = { succeeded: true, failed: false, failedOver: false, durationMs: 10 };
const failed = { ...ok, succeeded: false, failed: true };
const condition = { requests: "others", error_ratio: 0.5, p99_ms: null, min_requests: 4 } as const;

test("it stops when more than the ratio failed, with enough requests", () => {
  const watch = new AbortWatch(condition);
  for (const request of [failed, failed, ok]) watch.add(request, false, 1000);
  expect(watch.reasonAt(1000)).toBeNull();
  watch.add(ok, false, 1000);
  expect(watch.reasonAt(1000)).toBeNull();
  watch.add(failed, false, 1000);
  expect(watch.reasonAt(1000)).toBe("3 of 5 other requests failed; error_ratio is 0.5");
});

test("requests of the last 10 seconds count, and only those that are observed", () => {
  const watch = new AbortWatch(condition);
  for (let count = 0; count < 4; count++) watch.add(failed, true, 1000);
  expect(watch.reasonAt(1000)).toBeNull();
  for (let count = 0; count < 4; count++) watch.add(failed, false, 1000);
  expect(watch.reasonAt(10_999)).not.toBeNull();
  expect(watch.reasonAt(12_000)).toBeNull();
});

test("it stops when the 99th percentile is too high", () => {
  const watch = new AbortWatch({ requests: "all", error_ratio: null, p99_ms: 100, min_requests: 1 });
  for (let count = 0; count < 98; count++) watch.add(ok, false, 0);
  watch.add({ ...ok, durationMs: 500 }, true, 0);
  expect(watch.reasonAt(0)).toContain("p99_ms is 100");
  for (let count = 0; count < 100; count++) watch.add(ok, false, 0);
  expect(watch.reasonAt(0)).toBeNull();
});
