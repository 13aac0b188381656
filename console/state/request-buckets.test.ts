// Requests over time.
import { expect, test } from "bun:test";
import type { RequestRecord } from "../api/item-types.ts";
import { countByTime } from "./request-buckets.ts";

function record(time: string, status = 200): RequestRecord {
  return { time, status } as unknown as RequestRecord;
}

test("counts requests by time and status class, in buckets aligned to the clock", () => {
  const buckets = countByTime(
    [
      record("2026-11-16T21:00:09.500Z", 503),
      record("2026-11-16T21:00:03Z", 429),
      record("2026-11-16T21:00:02.100Z"),
    ],
    4,
  );
  expect(buckets.map(({ total, rejected, failed }) => [total, rejected, failed])).toEqual([
    [2, 1, 0],
    [0, 0, 0],
    [0, 0, 0],
    [1, 0, 1],
  ]);
  expect(new Date(buckets[3]?.from ?? 0).toISOString()).toBe("2026-11-16T21:00:08.000Z");
});

test("every request is in a bucket, however long the period", () => {
  for (const days of [0, 1, 40, 4000]) {
    const end = new Date(Date.parse("2026-11-16T21:00:00Z") + days * 86_400_000).toISOString();
    const buckets = countByTime([record("2026-11-16T21:00:00Z"), record(end)], 12);
    expect(buckets.reduce((sum, { total }) => sum + total, 0)).toBe(2);
  }
});

test("there are no buckets without requests", () => {
  expect(countByTime([], 12)).toEqual([]);
});
