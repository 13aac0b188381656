// What one node, or all nodes together, counted during a game day.
import type { FaultType } from "../../model/game-day.ts";

/** Ratio of the limits of neighboring buckets of durations: a percentile is at most this much too high. */
const BUCKET_RATIO = 1.05;

/** How the client saw the end of a request. */
export interface ObservedRequest {
  readonly succeeded: boolean;
  /** Status 5xx, or an incomplete response. */
  readonly failed: boolean;
  /** Succeeded at another attempt than the first. */
  readonly failedOver: boolean;
  readonly durationMs: number;
}

/** Counts of a group of requests. Durations are counted in buckets, by the number of the bucket. */
export interface RequestCounts {
  requests: number;
  succeeded: number;
  failed: number;
  failed_over: number;
  readonly durations: Record<string, number>;
}

export interface GameDayCounts {
  readonly affected: RequestCounts;
  readonly others: RequestCounts;
  /** Affected requests by the type of the fault. */
  readonly by_fault: Partial<Record<FaultType, number>>;
}

export function noRequests(): RequestCounts {
  return { requests: 0, succeeded: 0, failed: 0, failed_over: 0, durations: {} };
}

export function noCounts(): GameDayCounts {
  return { affected: noRequests(), others: noRequests(), by_fault: {} };
}

export function countRequest(counts: RequestCounts, request: ObservedRequest): void {
  counts.requests++;
  if (request.succeeded) counts.succeeded++;
  if (request.failed) counts.failed++;
  if (request.failedOver) counts.failed_over++;
  const bucket = Math.ceil(Math.log(Math.max(1, request.durationMs)) / Math.log(BUCKET_RATIO));
  counts.durations[bucket] = (counts.durations[bucket] ?? 0) + 1;
}

/** Returns the 99th percentile of the durations in milliseconds; null without requests. */
export function p99Of(counts: RequestCounts): number | null {
  let remaining = Math.ceil(counts.requests * 0.99);
  if (remaining === 0) return null;
  const buckets = Object.entries(counts.durations).map(([bucket, count]) => [Number(bucket), count] as const);
  for (const [bucket, count] of buckets.sort(([a], [b]) => a - b)) {
    remaining -= count;
    if (remaining <= 0) return Math.ceil(BUCKET_RATIO ** bucket);
  }
  return null;
}

export function addCounts(sum: GameDayCounts, counts: GameDayCounts): void {
  addRequests(sum.affected, counts.affected);
  addRequests(sum.others, counts.others);
  addNumbers(sum.by_fault, counts.by_fault);
}

export function addRequests(sum: RequestCounts, counts: RequestCounts): void {
  sum.requests += counts.requests;
  sum.succeeded += counts.succeeded;
  sum.failed += counts.failed;
  sum.failed_over += counts.failed_over;
  addNumbers(sum.durations, counts.durations);
}

function addNumbers(sum: Record<string, number>, numbers: Readonly<Record<string, number>>): void {
  for (const [name, count] of Object.entries(numbers)) sum[name] = (sum[name] ?? 0) + count;
}

/** Counts are written by this program only, in this form. */
export function parseCounts(text: string): GameDayCounts {
  return JSON.parse(text) as GameDayCounts;
}
