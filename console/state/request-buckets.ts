// Counts of requests over time, for the strip above the request log.
import type { RequestRecord } from "../api/item-types.ts";

export interface TimeBucket {
  /** Unix milliseconds. */
  readonly from: number;
  /** Exclusive. */
  readonly until: number;
  readonly total: number;
  /** With status 4xx. */
  readonly rejected: number;
  /** With status 5xx. */
  readonly failed: number;
}

/** Lengths of a bucket in seconds. The shortest one that covers all records is used. */
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400];

/** Returns at most `count` buckets of equal length, aligned to the clock; none without records. */
export function countByTime(records: readonly RequestRecord[], count: number): TimeBucket[] {
  if (records.length === 0) return [];
  const times = records.map(({ time }) => Date.parse(time));
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const fits = (step: number) => Math.floor(last / step) - Math.floor(first / step) < count;
  const step =
    STEPS.map((seconds) => seconds * 1000).find(fits) ?? Math.ceil((last - first + 1) / (count - 1));
  const end = Math.floor(last / step);
  const buckets = Array.from({ length: count }, (_, index) => {
    const from = (end - count + 1 + index) * step;
    return { from, until: from + step, total: 0, rejected: 0, failed: 0 };
  });
  for (const [index, { status }] of records.entries()) {
    const bucket = buckets[Math.floor((times[index] ?? 0) / step) - end + count - 1];
    if (bucket === undefined) continue;
    bucket.total++;
    if (status >= 500) bucket.failed++;
    else if (status >= 400) bucket.rejected++;
  }
  return buckets;
}
